//! A change of a configuration as a person is shown it.

use serde_json::Value;
use similar::{ChangeTag, TextDiff};
use toolcrib_exec::Secrets;
use toolcrib_model::Secret;

use super::edit::Edit;
use crate::commands::import::secret_parts;
use crate::printable::{Layout, cut};

/// The most bytes of a line that are shown.
const MAX_LINE_BYTES: usize = 300;

/// The most lines that are shown. An entry has a few.
const MAX_LINES: usize = 200;

/// How much of what is the same is shown before the first difference of two long lines, in bytes.
const BEFORE_BYTES: usize = 40;

/// Keys of an entry whose texts are secrets, or may be.
const SECRET_KEYS: [&str; 3] = ["env", "headers", "http_headers"];

/// The lines that go and come, with their numbers. Keys of other servers are not shown.
pub(super) fn difference(edit: Edit, before: &str, after: &str) -> Vec<String> {
    let secrets = Secrets::new();
    for text in [before, after] {
        if let Some(Value::Object(servers)) = edit.read(text).ok().and_then(|mut all| all.remove(edit.servers)) {
            servers.values().for_each(|entry| note(entry, &secrets));
        }
    }
    let redactor = secrets.redactor();
    let difference = TextDiff::from_lines(before, after);
    let mut lines = Vec::new();
    for change in difference.iter_all_changes() {
        let (sign, number) = match change.tag() {
            ChangeTag::Equal => continue,
            ChangeTag::Delete => ('-', change.old_index()),
            ChangeTag::Insert => ('+', change.new_index()),
        };
        let line = redactor.redact(change.value().trim_end_matches(['\n', '\r']));
        lines.push((sign, number.map_or(0, |number| number + 1), line.to_string()));
    }
    let from = match lines.as_slice() {
        [(_, _, old), (_, _, new)] => first_difference(old, new),
        _ => 0,
    };
    let more = lines.len().saturating_sub(MAX_LINES);
    let shown = lines.iter().take(MAX_LINES).map(|(sign, number, line)| {
        let tail = line.get(line.floor_char_boundary(from)..).unwrap_or_default();
        let gap = if from > 0 { "…" } else { "" };
        format!("  {number:>5} {sign} {gap}{}", cut(tail, Layout::Lines, MAX_LINE_BYTES))
    });
    let mut shown: Vec<String> = shown.collect();
    if more > 0 {
        shown.push(format!("        … and {more} more lines"));
    }
    shown
}

/// Where two lines part, so that a file without line breaks is not cut before that.
fn first_difference(old: &str, new: &str) -> usize {
    let common = old.bytes().zip(new.bytes()).take_while(|(old, new)| old == new).count();
    if common < MAX_LINE_BYTES / 2 { 0 } else { common - BEFORE_BYTES }
}

/// Notes what an entry of a server holds that nobody should read over a shoulder.
fn note(entry: &Value, secrets: &Secrets) {
    let add = |text: &str| {
        secrets.add("of this server", Secret::new(text));
    };
    for map in SECRET_KEYS.iter().filter_map(|key| entry.get(key)?.as_object()) {
        map.values().filter_map(Value::as_str).for_each(add);
    }
    let arguments: Vec<&str> =
        entry.get("args").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    for part in secret_parts(&arguments) {
        add(part);
    }
    for url in ["url", "httpUrl"].iter().filter_map(|key| entry.get(key)?.as_str()) {
        secret_parts(&[url]).into_iter().for_each(add);
    }
}
