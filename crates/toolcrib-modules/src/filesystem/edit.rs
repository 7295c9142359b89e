//! The tool `filesystem.edit`.

use std::io::Read as _;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use similar::TextDiff;
use toolcrib_io::files::Root;
use toolcrib_model::ToolError;

use super::errors::{failed, invalid, tool_error};
use super::walk::relative;
use super::write::MAX_WRITE_BYTES;
use crate::blocking::Cancellation;

/// The maximum size of the diff in a result, in bytes.
pub(crate) const MAX_DIFF_BYTES: usize = 16 * 1024;

/// The maximum number of lines that an error about an ambiguous text names.
const MAX_PLACES: usize = 10;

/// The number of context lines around a change.
const DIFF_CONTEXT: usize = 3;

/// The time limit of the search for a minimal diff. After it, the diff is longer but still correct.
const MAX_DIFF_TIME: Duration = Duration::from_millis(500);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Edit {
    /// The text file, relative to the workspace.
    pub(super) path: String,
    /// The text to replace, exactly as it stands in the file, with its spaces and line breaks. It has to occur there
    /// once; add lines around it until it does.
    #[schemars(length(min = 1))]
    old_text: String,
    /// The text to put in its place; empty to remove it.
    new_text: String,
    /// True to replace all occurrences.
    #[serde(default)]
    replace_all: bool,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct EditOutput {
    /// The file, relative to the workspace.
    path: String,
    /// The number of replaced occurrences.
    replaced: usize,
    /// The new size of the file, in bytes.
    bytes: usize,
    /// The change, as a unified diff.
    diff: String,
    /// Notes on omitted content.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

pub(super) fn edit(root: &Root, edit: &Edit, stop: &Cancellation) -> Result<EditOutput, ToolError> {
    let Edit { path, old_text, new_text, replace_all } = edit;
    if old_text.is_empty() {
        return Err(invalid("`old_text` is empty").with_hint("`filesystem.write` writes a whole file"));
    }
    if old_text == new_text {
        return Err(invalid("`old_text` and `new_text` are the same: there is nothing to change"));
    }
    root.check_write(path).map_err(|error| tool_error(root, error))?;
    let before = read_text(root, path)?;
    let replaced = match (before.matches(old_text.as_str()).count(), replace_all) {
        (0, _) => return Err(missing_error(path, &before, old_text)),
        (found, false) if found > 1 => return Err(ambiguous_error(path, &before, old_text, found)),
        (found, _) => found,
    };
    let grown = replaced.saturating_mul(new_text.len().saturating_sub(old_text.len()));
    if before.len().saturating_add(grown) > MAX_WRITE_BYTES {
        let message =
            format!("`{path}` would have more than {MAX_WRITE_BYTES} bytes, the most that is written");
        return Err(failed(message).with_hint("replace it in fewer places, or with a shorter text"));
    }
    let after = before.replace(old_text.as_str(), new_text);
    stop.check()?;
    root.write(path, after.as_bytes()).map_err(|error| tool_error(root, error))?;
    let path = relative(root, path);
    let (diff, notes) = unified_diff(&path, &before, &after);
    Ok(EditOutput { path, replaced, bytes: after.len(), diff, notes })
}

/// Reads a text file as a whole.
fn read_text(root: &Root, path: &str) -> Result<String, ToolError> {
    let file = root.open_to_read(path).map_err(|error| tool_error(root, error))?;
    let mut bytes = Vec::new();
    let read = file.take(MAX_WRITE_BYTES as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| failed(format!("cannot read `{path}`: {error}")))?;
    if bytes.len() > MAX_WRITE_BYTES {
        let message = format!("`{path}` has more than {MAX_WRITE_BYTES} bytes, the most that is edited");
        return Err(failed(message).with_hint("edit a smaller file"));
    }
    String::from_utf8(bytes).map_err(|_| {
        failed(format!("`{path}` is not text in UTF-8")).with_hint(
            "`filesystem.read` with its `encoding`, and then `filesystem.write`, makes UTF-8 of it",
        )
    })
}

fn missing_error(path: &str, text: &str, old_text: &str) -> ToolError {
    let error = failed(format!("`old_text` does not occur in `{path}`"));
    if !old_text.contains('\r') && text.replace("\r\n", "\n").contains(old_text) {
        return error.with_hint(
            "the lines of this file end with `\\r\\n`: write them that way in `old_text` and `new_text`",
        );
    }
    // The first line with content, at its first occurrence regardless of spaces around it.
    let telling = old_text.lines().map(str::trim).find(|line| !line.is_empty());
    let near = telling.and_then(|line| {
        let stands = |shown: &str| shown.trim() == line;
        text.lines().position(stands).or_else(|| text.lines().position(|shown| shown.contains(line)))
    });
    match near {
        Some(index) => error.with_hint(format!(
            "its first line resembles line {}: read the file from there, and copy the text exactly",
            index + 1
        )),
        None => error.with_hint("`filesystem.read` shows the content of the file"),
    }
}

fn ambiguous_error(path: &str, text: &str, old_text: &str, found: usize) -> ToolError {
    let (mut lines, mut line, mut counted) = (Vec::new(), 1, 0);
    for (at, _) in text.match_indices(old_text).take(MAX_PLACES) {
        line += text.get(counted..at).unwrap_or_default().matches('\n').count();
        counted = at;
        lines.push(line.to_string());
    }
    let more = if found > MAX_PLACES { ", …" } else { "" };
    failed(format!("`old_text` occurs in `{path}` {found} times, at the lines {}{more}", lines.join(", ")))
        .with_hint("add lines around it to `old_text` until it occurs once, or set `replace_all` to true")
}

/// Returns the diff, cut to its maximum size, and a note on the omitted lines.
fn unified_diff(path: &str, before: &str, after: &str) -> (String, Vec<String>) {
    let diff = TextDiff::configure().timeout(MAX_DIFF_TIME).diff_lines(before, after);
    let all = diff.unified_diff().context_radius(DIFF_CONTEXT).header(path, path).to_string();
    if all.len() <= MAX_DIFF_BYTES {
        return (all, Vec::new());
    }
    let mut shown = 0;
    for line in all.split_inclusive('\n') {
        if shown + line.len() > MAX_DIFF_BYTES {
            break;
        }
        shown += line.len();
    }
    let left_out = all.get(shown..).map_or(0, |rest| rest.lines().count());
    let notes = vec![format!("{left_out} lines of the diff are not shown")];
    (all.get(..shown).unwrap_or_default().to_owned(), notes)
}
