//! Taking our entry out again.

use std::path::PathBuf;

use serde_json::Value;

use super::edit::{Edit, Problem};
use super::entry::is_ours;
use crate::file_edit::{Target, backups};

/// The entry that a configuration had before ours.
#[derive(Debug)]
pub(super) struct Origin {
    pub(super) path: PathBuf,
    text: String,
}

/// A configuration without our entry.
#[derive(Debug)]
pub(super) struct Undone {
    /// Nothing where the file was made for our entry.
    pub(super) text: Option<String>,
    /// True if the previous entry is restored.
    pub(super) is_restored: bool,
}

/// Returns the newest backup in which the entry of this name is not ours.
pub(super) fn origin(edit: Edit, target: &Target, name: &str) -> Option<Origin> {
    backups(&target.path).into_iter().find_map(|(_, path)| {
        let text = Target::read(path.clone()).ok()?.text?;
        let entry = edit.entry(&text, name).ok()?;
        (!entry.as_ref().is_some_and(is_ours)).then_some(Origin { path, text })
    })
}

/// Takes our entry out. Where nothing else has changed since, the file is as it was, byte for byte.
pub(super) fn undone(edit: Edit, target: &Target, name: &str, entry: &Value) -> Result<Undone, Problem> {
    let text = target.text.as_deref().unwrap_or_default();
    let Value::Object(entry) = entry else {
        return Ok(Undone { text: Some(text.to_owned()), is_restored: false });
    };
    let made = |before: Option<&str>| edit.with(before, name, entry).is_ok_and(|made| made == text);
    let Some(origin) = origin(edit, target, name) else {
        let left = if made(None) { None } else { Some(edit.without(text, name, false)?) };
        return Ok(Undone { text: left, is_restored: false });
    };
    let written = edit.written(&origin.text, name)?;
    let is_restored = written.is_some();
    let left = match written {
        _ if made(Some(&origin.text)) => origin.text,
        Some(written) => edit.with_written(text, name, &written)?,
        None => edit.without(text, name, !edit.read(&origin.text)?.contains_key(edit.servers))?,
    };
    Ok(Undone { text: Some(left), is_restored })
}
