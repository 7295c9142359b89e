//! The folders of caches and of program state.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// Returns the user's folder for this sort of thing: `toolcrib/SORT` in `$XDG_CACHE_HOME`, or in `.cache` of `$HOME`;
/// none when neither is set.
pub(crate) fn cache_folder(sort: &str) -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let caches = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")));
    Some(caches.filter(|folder| folder.is_absolute())?.join("toolcrib").join(sort))
}

/// Returns the user's folder for what programs keep for good: `toolcrib/SORT` in `$XDG_STATE_HOME`, or in
/// `.local/state` of `$HOME`; none when neither is an absolute path.
pub fn state_folder(sort: &str) -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/state")));
    Some(state?.join("toolcrib").join(sort))
}

/// The number of characters of a folder's name in [`state_name`].
const NAME_CHARS: usize = 40;

/// Returns the name under which things of the app in this file are kept: that of the folder it stands in, and a number
/// that tells it apart from others.
pub fn state_name(app: &Path) -> String {
    let app = app.canonicalize().unwrap_or_else(|_| app.to_owned());
    let folder = app.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned();
    let plain: String =
        folder.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(NAME_CHARS).collect();
    let digest = Sha256::digest(app.as_os_str().as_encoded_bytes());
    let number = digest.iter().take(8).fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    format!("{plain}-{number:016x}")
}
