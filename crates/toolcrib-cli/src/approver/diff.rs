//! The changes of an edit, as a diff for people.

use serde_json::Value;
use toolcrib_document::{LineChange, line_diff};
use toolcrib_model::JsonObject;

use super::show::argument;
use crate::ui::printable::{Layout, excerpt, printable};

/// The most lines of a difference.
const MAX_LINES: usize = 200;

/// The most bytes of one line or value.
const MAX_LINE_BYTES: usize = 1000;

/// The number of unchanged lines around a change.
const CONTEXT: usize = 2;

/// The number of bytes before the first difference of a long value.
const BEFORE_BYTES: usize = 40;

/// Returns the changes of an edit by argument; empty without changes.
pub(super) fn arguments(old: &JsonObject, new: &JsonObject) -> String {
    let mut changes = Vec::new();
    members(old, new, "", &mut changes);
    bounded(changes)
}

/// Returns the changes of an edit by line.
pub(crate) fn lines(old: &str, new: &str) -> String {
    bounded(line_changes(old, new, "  "))
}

fn members(old: &JsonObject, new: &JsonObject, path: &str, changes: &mut Vec<String>) {
    for (name, old) in old {
        match new.get(name) {
            Some(new) => values(old, new, &below(path, name), changes),
            None => changes.push(format!("  - {}: {}", below(path, name), value(old))),
        }
    }
    for (name, new) in new.iter().filter(|(name, _)| !old.contains_key(*name)) {
        changes.push(format!("  + {}: {}", below(path, name), value(new)));
    }
}

fn values(old: &Value, new: &Value, path: &str, changes: &mut Vec<String>) {
    match (old, new) {
        _ if old == new => {}
        (Value::Object(old), Value::Object(new)) => members(old, new, path, changes),
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            for (position, (old, new)) in old.iter().zip(new).enumerate() {
                values(old, new, &format!("{path}[{position}]"), changes);
            }
        }
        (Value::String(old), Value::String(new)) if old.contains('\n') || new.contains('\n') => {
            changes.push(format!("  ~ {path}:"));
            changes.extend(line_changes(old, new, "      "));
        }
        _ => {
            let (old, new) = (old.to_string(), new.to_string());
            let from = first_difference(&old, &new);
            changes.push(format!("  - {path}: {}", tail(&old, from)));
            changes.push(format!("  + {path}: {}", tail(&new, from)));
        }
    }
}

fn below(path: &str, name: &str) -> String {
    let dot = if path.is_empty() { "" } else { "." };
    format!("{path}{dot}{}", argument(name))
}

fn value(value: &Value) -> String {
    excerpt(&value.to_string(), MAX_LINE_BYTES)
}

/// Returns the position of the first difference, so that a long text is not cut before it.
fn first_difference(old: &str, new: &str) -> usize {
    let common = old.bytes().zip(new.bytes()).take_while(|(old, new)| old == new).count();
    if common < MAX_LINE_BYTES / 2 { 0 } else { common - BEFORE_BYTES }
}

fn tail(text: &str, from: usize) -> String {
    let from = text.floor_char_boundary(from);
    let shown = excerpt(text.get(from..).unwrap_or_default(), MAX_LINE_BYTES);
    if from > 0 { format!("…{shown}") } else { shown }
}

/// Returns the changed lines with some around them.
fn line_changes(old: &str, new: &str, indent: &str) -> Vec<String> {
    let steps = line_diff(old, new);
    let is_near = |at: usize| {
        let near = steps.iter().skip(at.saturating_sub(CONTEXT)).take(at.min(CONTEXT) + CONTEXT + 1);
        near.clone().any(|(change, _)| *change != LineChange::Kept)
    };
    let mut shown = Vec::new();
    let mut is_gap = false;
    for (at, (change, line)) in steps.iter().enumerate() {
        if is_near(at) {
            shown.push(
                format!("{indent}{} {}", change.mark(), excerpt(line, MAX_LINE_BYTES)).trim_end().to_owned(),
            );
            is_gap = false;
        } else if !is_gap {
            shown.push(format!("{indent}…"));
            is_gap = true;
        }
    }
    shown
}

fn bounded(mut changes: Vec<String>) -> String {
    let more = changes.len().saturating_sub(MAX_LINES);
    changes.truncate(MAX_LINES);
    if more > 0 {
        changes.push(format!("  … and {more} more lines"));
    }
    changes.iter().map(|line| printable(line, Layout::Line)).collect::<Vec<_>>().join("\n")
}
