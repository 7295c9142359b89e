//! The changes of an edit, as a diff for people.

use serde_json::Value;
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

/// The most pairs of lines that are compared; beyond that, all of the old goes and all of the new comes.
const MAX_PAIRS: usize = 1_000_000;

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
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let steps = steps(&old, &new);
    let is_near = |at: usize| {
        let near = steps.iter().skip(at.saturating_sub(CONTEXT)).take(at.min(CONTEXT) + CONTEXT + 1);
        near.clone().any(|(mark, _)| *mark != ' ')
    };
    let mut shown = Vec::new();
    let mut is_gap = false;
    for (at, (mark, line)) in steps.iter().enumerate() {
        if is_near(at) {
            shown.push(format!("{indent}{mark} {}", excerpt(line, MAX_LINE_BYTES)).trim_end().to_owned());
            is_gap = false;
        } else if !is_gap {
            shown.push(format!("{indent}…"));
            is_gap = true;
        }
    }
    shown
}

/// Returns each line with its mark: ` ` for kept, `-` for removed, `+` for added.
fn steps<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<(char, &'a str)> {
    let start = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let (same, old, new) = (
        old.get(..start).unwrap_or_default(),
        old.get(start..).unwrap_or_default(),
        new.get(start..).unwrap_or_default(),
    );
    let end = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
    let (old, after) = old.split_at(old.len() - end);
    let (new, _) = new.split_at(new.len() - end);
    let mut steps: Vec<(char, &str)> = same.iter().map(|line| (' ', *line)).collect();
    steps.extend(middle(old, new));
    steps.extend(after.iter().map(|line| (' ', *line)));
    steps
}

/// Returns the longest common subsequence, walked.
fn middle<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<(char, &'a str)> {
    let width = new.len() + 1;
    if old.len().saturating_mul(new.len()) > MAX_PAIRS {
        let gone = old.iter().map(|line| ('-', *line));
        return gone.chain(new.iter().map(|line| ('+', *line))).collect();
    }
    // How many lines can stay from each pair of places on.
    let mut table = vec![0_u32; (old.len() + 1) * width];
    let get =
        |table: &[u32], row: usize, column: usize| table.get(row * width + column).copied().unwrap_or(0);
    for (row, before) in old.iter().enumerate().rev() {
        for (column, after) in new.iter().enumerate().rev() {
            let best = if before == after {
                get(&table, row + 1, column + 1) + 1
            } else {
                get(&table, row + 1, column).max(get(&table, row, column + 1))
            };
            if let Some(place) = table.get_mut(row * width + column) {
                *place = best;
            }
        }
    }
    let (mut row, mut column, mut steps) = (0, 0, Vec::new());
    loop {
        match (old.get(row), new.get(column)) {
            (Some(before), Some(after)) if before == after => {
                steps.push((' ', *before));
                (row, column) = (row + 1, column + 1);
            }
            (Some(before), after)
                if after.is_none() || get(&table, row + 1, column) >= get(&table, row, column + 1) =>
            {
                steps.push(('-', *before));
                row += 1;
            }
            (_, Some(after)) => {
                steps.push(('+', *after));
                column += 1;
            }
            (_, None) => return steps,
        }
    }
}

fn bounded(mut changes: Vec<String>) -> String {
    let more = changes.len().saturating_sub(MAX_LINES);
    changes.truncate(MAX_LINES);
    if more > 0 {
        changes.push(format!("  … and {more} more lines"));
    }
    changes.iter().map(|line| printable(line, Layout::Line)).collect::<Vec<_>>().join("\n")
}
