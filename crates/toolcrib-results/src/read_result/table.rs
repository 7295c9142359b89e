//! Texts that are lists of records: comma-separated values, and JSON lines.

use serde_json::{Number, Value};
use toolcrib_model::JsonObject;

use crate::json_size::value_count;
use crate::limits::{MAX_PARSED_BYTES, MAX_PARSED_VALUES};

/// The field separators. The comma is last, since it is common in other texts.
const SEPARATORS: [u8; 4] = [b'\t', b';', b'|', b','];

/// The number of lines that must have as many fields as the first one.
const CHECKED_LINES: usize = 20;

/// The maximum number of columns of a table.
const MAX_COLUMNS: usize = 500;

/// The maximum length of the name of a column, in bytes.
const MAX_NAME_BYTES: usize = 100;

/// The format of the records of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Records {
    /// Fields with this separator, with the names in the first line.
    Fields(u8),
    /// A JSON object on each line.
    JsonLines,
}

impl Records {
    /// Detects the format of the records of a text by its beginning, if it has any.
    pub(crate) fn of(text: &str) -> Option<Self> {
        if text.len() > MAX_PARSED_BYTES {
            return None;
        }
        let mut lines = text.lines().filter(|line| !line.trim().is_empty()).take(CHECKED_LINES);
        if text.trim_start().starts_with('{') {
            let is_object = |line: &str| serde_json::from_str::<JsonObject>(line).is_ok();
            let is_second = lines.next().is_some_and(is_object) && lines.next().is_some_and(is_object);
            return (is_second && lines.all(is_object)).then_some(Self::JsonLines);
        }
        SEPARATORS.into_iter().map(Self::Fields).find(|records| records.fits(text))
    }

    fn fits(self, text: &str) -> bool {
        let Self::Fields(separator) = self else { return false };
        let mut reader = Reader { text, at: 0, separator };
        let Some(names) = reader.next() else { return false };
        let is_name = |name: &String| {
            !name.trim().is_empty() && name.len() <= MAX_NAME_BYTES && name.parse::<f64>().is_err()
        };
        if names.len() < 2 || names.len() > MAX_COLUMNS || !names.iter().all(is_name) {
            return false;
        }
        let mut sorted: Vec<_> = names.iter().collect();
        sorted.sort();
        sorted.dedup();
        let mut rows = reader.take(CHECKED_LINES).peekable();
        sorted.len() == names.len() && rows.peek().is_some() && rows.all(|row| row.len() == names.len())
    }

    /// Returns the records as a list of objects; `None` if there are too many.
    pub(crate) fn read(self, text: &str) -> Option<Value> {
        let mut values = 0;
        let mut fits = |added: usize| {
            values += added;
            values <= MAX_PARSED_VALUES
        };
        match self {
            Self::JsonLines => {
                let lines = text.lines().filter(|line| !line.trim().is_empty());
                let rows = lines
                    .map(|line| fits(value_count(line)).then(|| serde_json::from_str(line).ok()).flatten());
                rows.collect::<Option<Vec<Value>>>().map(Value::from)
            }
            Self::Fields(separator) => {
                let mut reader = Reader { text, at: 0, separator };
                let names = reader.next()?;
                let rows = reader.map(|row| {
                    let fields = names
                        .iter()
                        .map(|name| name.trim().to_owned())
                        .zip(row.iter().map(|field| typed(field)));
                    fits(names.len()).then(|| Value::Object(fields.collect()))
                });
                rows.collect::<Option<Vec<Value>>>().map(Value::from)
            }
        }
    }
}

/// Returns the value of a field: a number if it has the syntax of JSON, and null if it is empty.
fn typed(field: &str) -> Value {
    let plain = field.trim();
    if plain.is_empty() {
        return Value::Null;
    }
    match plain.parse::<Number>() {
        Ok(number) if plain.starts_with(|c: char| c == '-' || c.is_ascii_digit()) => Value::Number(number),
        _ => Value::from(field),
    }
}

/// A reader of records of fields, which may be quoted (RFC 4180).
struct Reader<'t> {
    text: &'t str,
    at: usize,
    separator: u8,
}

impl Iterator for Reader<'_> {
    type Item = Vec<String>;

    /// Returns the fields of the next line that is not empty.
    fn next(&mut self) -> Option<Vec<String>> {
        let bytes = self.text.as_bytes();
        while matches!(bytes.get(self.at), Some(b'\n' | b'\r')) {
            self.at += 1;
        }
        bytes.get(self.at)?;
        let mut fields = Vec::new();
        loop {
            fields.push(self.field());
            match bytes.get(self.at) {
                Some(byte) if *byte == self.separator => self.at += 1,
                _ => return Some(fields),
            }
        }
    }
}

impl Reader<'_> {
    fn field(&mut self) -> String {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let mut out = String::new();
        let mut tail = rest;
        if let Some(quoted) = rest.strip_prefix('"') {
            tail = quoted;
            while let Some((part, after)) = tail.split_once('"') {
                out.push_str(part);
                tail = after;
                let Some(more) = tail.strip_prefix('"') else { break };
                out.push('"');
                tail = more;
            }
        }
        let is_end = |c: char| matches!(c, '\n' | '\r') || c == char::from(self.separator);
        let end = tail.find(is_end).unwrap_or(tail.len());
        out.push_str(tail.get(..end).unwrap_or_default());
        self.at += rest.len() - tail.len() + end;
        out
    }
}
