//! What goes to standard output.

use std::io::{IsTerminal, Write};

use serde::Serialize;
use serde_json::{Value, json};
use toolcrib_policy::{Effect, Policy};
use toolcrib_port::Reject;
use toolcrib_registry::{Entry, Snapshot};

/// Prints one JSON document.
pub(crate) fn json(value: &impl Serialize) {
    let mut out = std::io::stdout().lock();
    // A reader that hung up wants no more.
    let _ = serde_json::to_writer_pretty(&mut out, value);
    let _ = writeln!(out);
}

/// Prints text as it is.
pub(crate) fn text(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{text}");
}

/// A tool as `load` and `tools` print it.
pub(crate) fn tool(entry: &Entry, effect: Effect) -> Value {
    let tool = &entry.tool;
    json!({
        "qualified_name": tool.name,
        "namespace": tool.name.namespace(),
        "name": tool.name.name(),
        "description": tool.description,
        "parameters": tool.parameters,
        "output_parameters": tool.output_parameters,
        "fingerprint": entry.fingerprint,
        "source": entry.source.as_ref(),
        "risk": tool.risk(),
        "policy": effect,
        "metadata": tool.metadata,
    })
}

/// The tools that pass, and what was rejected.
pub(crate) fn snapshot(snapshot: &Snapshot, policy: &Policy, shown: impl Fn(&Entry) -> bool) -> Value {
    let tools = snapshot.iter().filter(|entry| shown(entry));
    let tools: Vec<_> = tools.map(|entry| tool(entry, policy.decide(&entry.tool).effect)).collect();
    json!({"generation": snapshot.generation(), "tools": tools, "rejected": snapshot.rejected()})
}

/// The same as lines for people.
pub(crate) fn snapshot_lines(snapshot: &Snapshot, policy: &Policy, shown: impl Fn(&Entry) -> bool) {
    let rows: Vec<[String; 5]> = snapshot
        .iter()
        .filter(|entry| shown(entry))
        .map(|entry| {
            let tool = &entry.tool;
            [
                tool.name.dotted(),
                tool.risk().to_string(),
                effect_word(policy.decide(tool).effect).into(),
                entry.source.to_string(),
                first_line(&tool.description),
            ]
        })
        .collect();
    table(&["tool", "risk", "policy", "source", "description"], &rows);
    eprintln!("{} tools", rows.len());
    rejects(snapshot.rejected());
}

/// What was rejected, on standard error.
pub(crate) fn rejects(rejected: &[Reject]) {
    for reject in rejected {
        eprintln!("rejected: {reject}");
    }
}

pub(crate) fn effect_word(effect: Effect) -> &'static str {
    match effect {
        Effect::Grant => "grant",
        Effect::Approve => "approve",
        Effect::Deny => "deny",
    }
}

/// The first line of a text, shortened to fit a table.
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
    let mut widths = head.map(|cell| cell.chars().count());
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |cells: [&str; N]| {
        let padded = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    text(&line(*head));
    for row in rows {
        text(&line(row.each_ref().map(String::as_str)));
    }
}

/// Whether a person reads standard error, so that colour helps.
pub(crate) fn is_colourful() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}
