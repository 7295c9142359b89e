//! The folders of caches and of program state.

use std::path::PathBuf;

/// Returns the user's folder for this sort of thing: `toolcrib/SORT` in `$XDG_CACHE_HOME`, or in `.cache` of `$HOME`;
/// none when neither is set.
pub fn cache_folder(sort: &str) -> Option<PathBuf> {
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
