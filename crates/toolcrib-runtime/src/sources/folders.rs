//! Where what can be fetched again is kept.

use std::path::PathBuf;

/// The user's folder for this sort of thing: `toolcrib/SORT` in `$XDG_CACHE_HOME`, or in `.cache` of `$HOME`; none when
/// neither is set.
pub(crate) fn cache_folder(sort: &str) -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let caches = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")));
    Some(caches.filter(|folder| folder.is_absolute())?.join("toolcrib").join(sort))
}
