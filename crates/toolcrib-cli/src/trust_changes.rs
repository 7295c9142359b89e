//! Showing what has changed of MCP servers and their tools.

use serde_json::{Value, json};
use similar::{ChangeTag, TextDiff};
use toolcrib_app::App;
use toolcrib_app::Change;
use toolcrib_model::Fingerprint;
use toolcrib_results::Secrets;

use crate::ui::output;

/// The number of unchanged lines around a change.
const CONTEXT_LINES: usize = 3;

/// The most lines of one difference that are shown.
const MAX_LINES: usize = 400;

/// Returns the title of a change.
pub(crate) fn title(change: &Change) -> String {
    match &change.tool {
        None => format!("{}: the server itself, which is not started", change.namespace),
        Some(_) => name(change),
    }
}

/// Returns the name of a change for `toolcrib trust`.
pub(crate) fn name(change: &Change) -> String {
    match &change.tool {
        None => change.namespace.clone(),
        Some(tool) => format!("{}.{tool}", change.namespace),
    }
}

/// The length of a mark in characters: 96 bits, so that no other change with the same mark can be made.
const MARK_CHARS: usize = 24;

/// Names what was shown, so that exactly that can be approved.
pub(crate) fn mark(changes: &[Change]) -> String {
    let all: Value = changes
        .iter()
        .map(|change| json!([change.namespace, change.tool, change.approved, change.now]))
        .collect();
    Fingerprint::of(&all).to_string().chars().take(MARK_CHARS).collect()
}

/// Returns the changes as JSON.
pub(crate) fn json(changes: &[Change], secrets: &Secrets) -> Value {
    let redactor = secrets.redactor();
    let change = |change: &Change| {
        let mut value = json!({
            "namespace": change.namespace,
            "tool": change.tool,
            "approved": change.approved,
            "now": change.now,
            "seen": mark(std::slice::from_ref(change)),
        });
        redactor.redact_value(&mut value);
        value
    };
    changes.iter().map(change).collect()
}

/// For people: each difference. Of several, each with the command that approves it alone.
pub(crate) fn show(changes: &[Change], app: &App) {
    let redactor = app.secrets().redactor();
    for change in changes {
        output::say(&title(change));
        for line in difference(&change.approved, &change.now) {
            output::say(&redactor.redact(&line));
        }
        if changes.len() > 1 {
            let alone = approval(std::slice::from_ref(change), &name(change), app);
            output::say(&format!("  to approve this one: {alone}"));
        }
        output::say("");
    }
}

/// For people: all differences that there are, and the command that approves them together.
pub(crate) fn show_all(changes: &[Change], app: &App) {
    if changes.is_empty() {
        output::tell("everything is as it was approved");
        return;
    }
    show(changes, app);
    let all = approval(changes, "--all", app);
    let held_back = match changes {
        [_] => "1 change, held back until you approve it".to_owned(),
        _ => format!("{} changes, held back until you approve them", changes.len()),
    };
    output::tell(&format!("{held_back}: {all}"));
}

/// Returns the command that approves these changes and nothing else; `what` names them, and no others.
pub(crate) fn approval(changes: &[Change], what: &str, app: &App) -> String {
    format!("toolcrib trust {} {what} --seen {}", app.file.name, mark(changes))
}

/// Returns the lines that differ, with some around them.
fn difference(approved: &Value, now: &Value) -> Vec<String> {
    let (before, after) = (text(approved), text(now));
    let difference = TextDiff::from_lines(&before, &after);
    let mut lines = Vec::new();
    for (number, group) in difference.grouped_ops(CONTEXT_LINES).iter().enumerate() {
        if number > 0 {
            lines.push("  …".to_owned());
        }
        for change in group.iter().flat_map(|operation| difference.iter_changes(operation)) {
            let sign = match change.tag() {
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
                ChangeTag::Equal => ' ',
            };
            lines.push(format!("  {sign} {}", change.value().trim_end_matches('\n')));
        }
    }
    if lines.len() > MAX_LINES {
        let more = lines.len() - MAX_LINES;
        lines.truncate(MAX_LINES);
        lines.push(format!("  … {more} more lines; --json has all of them"));
    }
    lines
}

/// Texts stand as they are, with their line breaks.
fn text(value: &Value) -> String {
    match value.as_str() {
        Some(text) => format!("{text}\n"),
        None => format!("{value:#}\n"),
    }
}
