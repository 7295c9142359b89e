//! The names and the format of the files of sessions.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use toolcrib_app::state_name;
use toolcrib_io::files::state_folder;

use crate::exit::Failure;

/// The largest file of a session, in bytes. There is no room for more then, and another session has to be begun.
pub(super) const MAX_SESSION_BYTES: u64 = 64 * 1024 * 1024;

/// The longest id.
const MAX_ID_CHARS: usize = 64;

/// The folder of the copies of sessions that are in a store, in the folder of the sessions.
pub(super) const COPIES: &str = "shared";

/// The extension of the files.
pub(super) const EXTENSION: &str = "jsonl";

/// The form of the file.
pub(super) const VERSION: u32 = 1;

/// The first line.
#[derive(Serialize, Deserialize)]
pub(super) struct Head {
    pub(super) session: String,
    pub(super) version: u32,
    pub(super) agent: String,
}

/// Returns the folder with the sessions of an app, which may not exist yet.
pub(super) fn folder_of(app: &Path) -> Result<PathBuf, Failure> {
    let folder = state_folder("sessions").ok_or_else(|| {
        Failure::bad_input("there is no place for sessions; set `XDG_STATE_HOME` to an absolute path")
    })?;
    Ok(folder.join(state_name(app)))
}

/// Returns the folder with the results of the session in this file.
pub(super) fn results_of(path: &Path) -> PathBuf {
    path.with_extension("results")
}

/// Checks an id, which is part of the name of a file.
pub(super) fn check(id: &str) -> Result<(), Failure> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if !id.is_empty() && id.len() <= MAX_ID_CHARS && !id.starts_with('.') && id.chars().all(is_plain) {
        return Ok(());
    }
    Err(Failure::bad_input(format!(
        "--session: an id has up to {MAX_ID_CHARS} letters, digits, `-`, `_` and `.`, and begins with none of the last"
    )))
}
