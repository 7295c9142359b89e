//! Edits of TOML. An entry is a table with a header, `[mcp_servers.NAME]`, with the tables below it, or an inline table.

use std::fmt::Write as _;
use std::ops::Range;

use serde_json::{Map, Number, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Problem, line_end, not_editable, place, spliced};

pub(super) fn read(text: &str) -> Result<Map<String, Value>, Problem> {
    Ok(object(Toml::read(text)?.root.get_ref()))
}

pub(super) fn written(text: &str, servers: &str, name: &str) -> Result<Option<String>, Problem> {
    let toml = Toml::read(text)?;
    Ok(match toml.find(servers, name)? {
        None => None,
        Some(EntryLocation::Inline(range)) => text.get(range).map(str::to_owned),
        Some(EntryLocation::Tables(ranges)) => {
            Some(ranges.into_iter().filter_map(|range| text.get(range)).collect::<String>())
        }
    })
}

pub(super) fn with(
    text: &str,
    servers: &str,
    name: &str,
    entry: &Map<String, Value>,
) -> Result<String, Problem> {
    let newline = line_end(text);
    let toml = Toml::read(text)?;
    match toml.find(servers, name)? {
        Some(EntryLocation::Inline(range)) => Ok(spliced(text, range, &inline_table(entry))),
        Some(EntryLocation::Tables(ranges)) => {
            Ok(replaced(text, &ranges, &table(servers, name, entry, newline)))
        }
        None => {
            let mut all = text.to_owned();
            if !all.is_empty() && !all.ends_with('\n') {
                all.push_str(newline);
            }
            if !all.trim().is_empty() && !all.ends_with(&newline.repeat(2)) {
                all.push_str(newline);
            }
            all.push_str(&table(servers, name, entry, newline));
            Toml::read(&all).map_err(|_| {
                Problem::new(format!(
                    "`{servers}` is written in a form that takes no further table; write its entries as tables, \
                     [{servers}.NAME]"
                ))
            })?;
            Ok(all)
        }
    }
}

pub(super) fn with_written(text: &str, servers: &str, name: &str, written: &str) -> Result<String, Problem> {
    match Toml::read(text)?.find(servers, name)? {
        Some(EntryLocation::Inline(range)) if written.starts_with('{') => Ok(spliced(text, range, written)),
        Some(EntryLocation::Tables(ranges)) if written.starts_with('[') => {
            Ok(replaced(text, &ranges, written))
        }
        _ => Err(not_editable(name)),
    }
}

pub(super) fn without(text: &str, servers: &str, name: &str) -> Result<String, Problem> {
    match Toml::read(text)?.find(servers, name)? {
        None => Ok(text.to_owned()),
        Some(EntryLocation::Tables(ranges)) => Ok(replaced(text, &ranges, "")),
        Some(EntryLocation::Inline(range)) => {
            // The line that it has for itself.
            let start = text.get(..range.start).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
            Ok(spliced(text, start..end_of_line(text, range.end), ""))
        }
    }
}

/// The location of an entry.
enum EntryLocation {
    /// An inline table, without its key.
    Inline(Range<usize>),
    /// Tables with headers: that of the entry and those below it, whole lines each.
    Tables(Vec<Range<usize>>),
}

struct Toml<'a> {
    text: &'a str,
    root: Spanned<DeTable<'a>>,
}

impl<'a> Toml<'a> {
    fn read(text: &'a str) -> Result<Self, Problem> {
        let root = DeTable::parse(text).map_err(|error| Problem {
            at: error.span().map(|span| place(text, span.start)),
            message: format!("not valid TOML: {}", error.message()),
        })?;
        Ok(Self { text, root })
    }

    fn find(&self, servers: &str, name: &str) -> Result<Option<EntryLocation>, Problem> {
        let Some(all) = self.root.get_ref().get(servers) else { return Ok(None) };
        let DeValue::Table(all_servers) = all.get_ref() else {
            let message = format!("`{servers}` has to be a table");
            return Err(Problem { at: Some(place(self.text, all.span().start)), message });
        };
        let Some(entry) = all_servers.get(name) else { return Ok(None) };
        let span = entry.span();
        if self.text.get(span.start..).is_some_and(|text| text.starts_with('{')) {
            // Inside of another inline table, taking a line out would take out more.
            let is_nested = self.text.get(all.span().start..).is_some_and(|text| text.starts_with('{'));
            return if is_nested { Err(not_editable(name)) } else { Ok(Some(EntryLocation::Inline(span))) };
        }
        let mut marks = Vec::new();
        marks_of_table(self.text, self.root.get_ref(), &mut marks);
        marks.sort_unstable();
        let mut headers = Vec::new();
        headers_of(self.text, entry, &mut headers);
        headers.sort_unstable();
        if headers.is_empty() {
            return Err(not_editable(name));
        }
        Ok(Some(EntryLocation::Tables(
            headers.into_iter().map(|header| self.region(&marks, header)).collect(),
        )))
    }

    /// Returns the lines of a table, from its header to the last of its values.
    fn region(&self, marks: &[Mark], header: usize) -> Range<usize> {
        let own = marks.iter().filter(|mark| mark.start >= header);
        let own = own.enumerate().take_while(|(number, mark)| *number == 0 || !mark.is_header);
        let end = own.map(|(_, mark)| mark.end).max().unwrap_or(header);
        let start = self.text.get(..header).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
        start..end_of_line(self.text, end)
    }
}

/// A header or a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Mark {
    start: usize,
    end: usize,
    is_header: bool,
}

fn is_header(text: &str, value: &Spanned<DeValue<'_>>) -> bool {
    matches!(value.get_ref(), DeValue::Table(_))
        && text.get(value.span().start..).is_some_and(|text| text.starts_with('['))
}

fn marks_of_table(text: &str, table: &DeTable<'_>, marks: &mut Vec<Mark>) {
    for (_, value) in table {
        marks_of(text, value, marks);
    }
}

fn marks_of(text: &str, value: &Spanned<DeValue<'_>>, marks: &mut Vec<Mark>) {
    let span = value.span();
    let is_header = is_header(text, value);
    match value.get_ref() {
        DeValue::Table(table) => {
            marks.push(Mark { start: span.start, end: span.end, is_header });
            marks_of_table(text, table, marks);
        }
        DeValue::Array(array) => {
            // The position of an array of tables is that of its first header, which has a mark.
            if !array.iter().any(|item| self::is_header(text, item)) {
                marks.push(Mark { start: span.start, end: span.end, is_header: false });
            }
            for item in array {
                marks_of(text, item, marks);
            }
        }
        _ => marks.push(Mark { start: span.start, end: span.end, is_header: false }),
    }
}

/// The headers of a table and of those below it.
fn headers_of(text: &str, value: &Spanned<DeValue<'_>>, headers: &mut Vec<usize>) {
    if is_header(text, value) {
        headers.push(value.span().start);
    }
    match value.get_ref() {
        DeValue::Table(table) => table.iter().for_each(|(_, value)| headers_of(text, value, headers)),
        DeValue::Array(array) => array.iter().for_each(|value| headers_of(text, value, headers)),
        _ => {}
    }
}

/// Behind the line that this stands in.
fn end_of_line(text: &str, at: usize) -> usize {
    text.get(at..).and_then(|rest| rest.find('\n')).map_or(text.len(), |newline| at + newline + 1)
}

/// Returns the text with this in the place of the first of some ranges, and nothing in that of the others.
fn replaced(text: &str, ranges: &[Range<usize>], new: &str) -> String {
    let mut all = text.to_owned();
    for (number, range) in ranges.iter().enumerate().rev() {
        let new = if number == 0 { new } else { "" };
        let mut range = range.clone();
        // The blank line before what is taken out goes with it.
        let before = all.get(..range.start).unwrap_or_default();
        if new.is_empty() {
            let blank = ["\n\r\n", "\n\n"].into_iter().find(|blank| before.ends_with(blank));
            range.start -= blank.map_or(0, |blank| blank.len() - 1);
        }
        all = spliced(&all, range, new);
    }
    all
}

/// Returns a table with its header.
pub(super) fn table(servers: &str, name: &str, entry: &Map<String, Value>, newline: &str) -> String {
    let mut text = format!("[{}.{}]{newline}", key(servers), key(name));
    for (name, item) in entry {
        // Writing to a string cannot fail.
        let _ = write!(text, "{} = {}{newline}", key(name), value(item));
    }
    text
}

fn key(name: &str) -> String {
    let is_bare =
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    if is_bare { name.to_owned() } else { quoted(name) }
}

fn value(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Array(items) => format!("[{}]", items.iter().map(self::value).collect::<Vec<_>>().join(", ")),
        Value::Object(table) => inline_table(table),
        // TOML knows no null; nothing that is written here holds one.
        other => other.to_string(),
    }
}

fn inline_table(table: &Map<String, Value>) -> String {
    let entries = table.iter().map(|(name, item)| format!("{} = {}", key(name), value(item)));
    let entries = entries.collect::<Vec<_>>().join(", ");
    if entries.is_empty() { "{}".to_owned() } else { format!("{{ {entries} }}") }
}

/// Returns a basic string. JSON escapes what has to be escaped in the same way, but for DEL.
fn quoted(text: &str) -> String {
    Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

fn object(table: &DeTable<'_>) -> Map<String, Value> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries.into_iter().map(|(key, value)| (key.get_ref().to_string(), json(value.get_ref()))).collect()
}

/// Returns a value as JSON has it. Times, and numbers that JSON does not have, become texts.
fn json(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::from(text.as_ref()),
        DeValue::Boolean(value) => Value::from(*value),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map_or_else(|_| number.to_string().into(), Value::from),
        DeValue::Float(number) => {
            let number = number.as_str();
            let float = number.parse().ok().and_then(Number::from_f64);
            float.map_or_else(|| Value::from(number), Value::Number)
        }
        DeValue::Datetime(time) => Value::from(time.to_string()),
        DeValue::Array(items) => items.iter().map(|item| json(item.get_ref())).collect(),
        DeValue::Table(table) => Value::Object(object(table)),
    }
}
