//! Standard output and standard error of the commands. All of it goes by the [screen](crate::terminal::Screen).

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::io::{BufWriter, IsTerminal, Write};

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use serde_json::Value;
use toolcrib_model::{Fingerprint, JsonObject, QualifiedName, Risk, Schema, Tool};
use toolcrib_policy::{Capabilities, Decision, Effect, Policy};
use toolcrib_port::Reject;
use toolcrib_registry::{Entry, Snapshot};

use crate::arguments::principal;
use crate::decision_display;
use crate::terminal::{Author, Stream, screen};
use crate::ui::printable::{Layout, cut, printable, printable_json};
use crate::ui::style::{Meaning, is_colourful};
use crate::ui::tool_list::{ToolRow, tool_lines};
use crate::ui::width::{terminal_width, wrap};

/// The most bytes of what was rejected that are shown; `--json` has all of it.
const MAX_REJECT_BYTES: usize = 4096;

/// The bytes of a JSON document that are printed at a time.
const JSON_CHUNK_BYTES: usize = 64 * 1024;

/// Prints one JSON document, without holding all of its text.
pub(crate) fn json(value: &impl Serialize) {
    let mut out = BufWriter::with_capacity(JSON_CHUNK_BYTES, JsonWriter);
    // The writer does not fail, and neither do values whose keys are texts.
    let _written = serde_json::to_writer_pretty(&mut out, value);
    let _written = out.write_all(b"\n").and_then(|()| out.flush());
}

/// Writer of a JSON document to standard output. Each write consists of whole characters.
struct JsonWriter;

impl Write for JsonWriter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        say_raw(&printable_json(&String::from_utf8_lossy(bytes)));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Prints lines on standard output.
pub(crate) fn say(text: &str) {
    say_raw(&(printable(text, Layout::Lines) + "\n"));
}

/// Prints lines on standard error.
pub(crate) fn tell(text: &str) {
    tell_raw(&(printable(text, Layout::Lines) + "\n"));
}

/// Prints lines on standard error in the colour of their meaning.
pub(crate) fn tell_meaning(meaning: Meaning, text: &str) {
    let text = printable(text, Layout::Lines);
    tell_raw(&format!("{}\n", if is_colourful() { meaning.paint(&text) } else { text }));
}

/// Shows progress in place of the previous line; without a terminal, only the end.
pub(crate) fn progress(text: &str, is_over: bool) {
    let text = printable(text, Layout::Lines);
    match (std::io::stderr().is_terminal(), is_over) {
        (true, false) => tell_raw(&format!("\r{text}")),
        (true, true) => tell_raw(&format!("\r{text}\n")),
        (false, true) => tell_raw(&format!("{text}\n")),
        (false, false) => {}
    }
}

/// Writes to standard output what is printable already, or goes to a file or program.
pub(crate) fn say_raw(text: &str) {
    screen().write(Stream::Out, Author::Program, text);
}

/// Writes to standard error what is printable already.
pub(crate) fn tell_raw(text: &str) {
    screen().write(Stream::Err, Author::Program, text);
}

/// Writes a model's words to standard output.
pub(crate) fn say_model(text: &str) {
    screen().write(Stream::Out, Author::Model, text);
}

/// Writes a model's words to standard error.
pub(crate) fn tell_model(text: &str) {
    screen().write(Stream::Err, Author::Model, text);
}

/// Writer of the log to standard error.
pub(crate) struct LogWriter;

impl Write for LogWriter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        tell_raw(&String::from_utf8_lossy(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Prints a text that is itself the result: as it is for a file or a program, printable for a person.
pub(crate) fn result_text(text: &str) {
    if std::io::stdout().is_terminal() {
        say(text);
    } else {
        say_raw(&format!("{text}\n"));
    }
}

/// A tool as `load` and `tools` print it.
#[derive(Serialize)]
struct PrintedTool<'a> {
    qualified_name: &'a QualifiedName,
    namespace: &'a str,
    name: &'a str,
    description: &'a str,
    parameters: &'a Schema,
    output_parameters: &'a Schema,
    fingerprint: Fingerprint,
    source: &'a str,
    risk: Risk,
    policy: Effect,
    decision: Value,
    metadata: &'a JsonObject,
}

impl<'a> PrintedTool<'a> {
    fn new(entry: &'a Entry, decision: &Decision, rules: &Capabilities) -> Self {
        let tool = &entry.tool;
        Self {
            qualified_name: &tool.name,
            namespace: tool.name.namespace(),
            name: tool.name.name(),
            description: &tool.description,
            parameters: &tool.parameters,
            output_parameters: &tool.output_parameters,
            fingerprint: entry.fingerprint,
            source: &entry.source,
            risk: tool.traits().risk,
            policy: decision.effect,
            decision: decision_display::to_json(decision, rules),
            metadata: tool.metadata(),
        }
    }
}

/// Prints the tools that pass, and what was rejected, as one JSON document.
pub(crate) fn snapshot_json(
    snapshot: &Snapshot,
    policy: &Policy,
    rules: &Capabilities,
    shown: impl Fn(&Entry) -> bool,
) {
    json(&PrintedSnapshot { snapshot, policy, rules, shown });
}

struct PrintedSnapshot<'a, F> {
    snapshot: &'a Snapshot,
    policy: &'a Policy,
    rules: &'a Capabilities,
    shown: F,
}

impl<F: Fn(&Entry) -> bool> Serialize for PrintedSnapshot<'_, F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("generation", &self.snapshot.generation())?;
        map.serialize_entry("tools", &PrintedTools(self))?;
        map.serialize_entry("rejected", self.snapshot.rejected())?;
        map.end()
    }
}

/// The list of tools, each made when it is printed: all of them together may be very large.
struct PrintedTools<'a, F>(&'a PrintedSnapshot<'a, F>);

impl<F: Fn(&Entry) -> bool> Serialize for PrintedTools<'_, F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let PrintedSnapshot { snapshot, policy, rules, shown } = self.0;
        let tools = snapshot.iter().filter(|entry| shown(entry));
        serializer.collect_seq(
            tools.map(|entry| PrintedTool::new(entry, &policy.decide(&entry.tool, principal()), rules)),
        )
    }
}

/// Prints the same as lines for people.
pub(crate) fn snapshot_lines(
    snapshot: &Snapshot,
    policy: &Policy,
    rules: &Capabilities,
    shown: impl Fn(&Entry) -> bool,
) {
    let mut sources: Vec<(&str, usize)> = Vec::new();
    let mut rows = Vec::new();
    for entry in snapshot.iter().filter(|entry| shown(entry)) {
        let tool = &entry.tool;
        match sources.iter_mut().find(|(source, _)| *source == &*entry.source) {
            Some((_, tools)) => *tools += 1,
            None => sources.push((&entry.source, 1)),
        }
        rows.push(ToolRow {
            name: tool.name.dotted(),
            risk: tool.traits().risk.to_string(),
            policy: decision_display::in_words(&policy.decide(tool, principal()), rules),
            description: first_line(&described(tool)),
        });
    }
    let columns = screen().is_terminal(Stream::Out).then(terminal_width);
    for line in tool_lines(&rows, columns) {
        say(&line);
    }
    let from = match &sources[..] {
        [] => String::new(),
        [(source, _)] => format!(" from {source}"),
        several => {
            let parts = several.iter().map(|(source, tools)| format!("{tools} from {source}"));
            format!(": {}", parts.collect::<Vec<_>>().join(", "))
        }
    };
    let count = match rows.len() {
        1 => "1 tool".to_owned(),
        count => format!("{count} tools"),
    };
    tell(&wrap(&format!("{count}{from}"), terminal_width()).join("\n"));
    rejects(snapshot.rejected());
}

/// Returns the title and the description of a tool.
fn described(tool: &Tool) -> Cow<'_, str> {
    match tool.title() {
        Some(title) if !tool.description.starts_with(title) => {
            format!("{title}: {}", tool.description).into()
        }
        _ => tool.description.as_str().into(),
    }
}

/// Prints the rejected tools on standard error.
pub(crate) fn rejects(rejected: &[Reject]) {
    for reject in rejected {
        let reject = cut(&reject.to_string(), Layout::Lines, MAX_REJECT_BYTES);
        tell(&format!("rejected: {reject}"));
    }
}

/// Returns the first line of a text, shortened to fit a table.
pub(crate) fn first_line(text: &str) -> String {
    const MAX_CHARS: usize = 70;
    let line = text.lines().next().unwrap_or_default();
    if line.chars().count() <= MAX_CHARS {
        return line.to_owned();
    }
    line.chars().take(MAX_CHARS - 1).chain(['…']).collect()
}

/// Prints columns that line up.
pub(crate) fn table<const N: usize>(head: &[&str; N], rows: &[[String; N]]) {
    for line in table_lines(head, rows) {
        say(&line);
    }
}

/// Returns one line for the head and for each row, also for cells with line ends.
pub(crate) fn table_lines<const N: usize>(head: &[&str; N], rows: &[[String; N]]) -> Vec<String> {
    let rows: Vec<[String; N]> =
        rows.iter().map(|row| row.each_ref().map(|cell| printable(cell, Layout::Line))).collect();
    let mut widths = head.map(|cell| cell.chars().count());
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |cells: [&str; N]| {
        let padded = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let rows = rows.iter().map(|row| line(row.each_ref().map(String::as_str)));
    std::iter::once(line(*head)).chain(rows).collect()
}
