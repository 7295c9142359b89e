//! Directory listings.

use std::path::Path;

use cap_std::fs::Dir;

use super::entry::Kind;
use super::path::explain;
use super::root::Root;
use crate::Error;

/// The most entries of one directory that are listed, or looked at in a walk.
pub const MAX_LIST_ENTRIES: usize = 10_000;

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name; what is not UTF-8 in it is replaced.
    pub name: String,
    /// The kind. Symlinks are not followed.
    pub kind: Kind,
    /// Its size in bytes, as the file system gives it.
    pub bytes: u64,
}

/// The entries of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// The entries, by name.
    pub entries: Vec<Entry>,
    /// True if the directory has more than [`MAX_LIST_ENTRIES`] entries, and some were left out.
    pub truncated: bool,
}

impl Root {
    /// Lists a directory.
    pub fn list(&self, path: impl AsRef<Path>) -> Result<Listing, Error> {
        let path = path.as_ref();
        let dir = self.open_dir(path)?;
        entries(&dir).map_err(|source| explain("list", path, source))
    }
}

/// Returns the entries of an open directory.
pub(super) fn entries(dir: &Dir) -> std::io::Result<Listing> {
    let mut listing = Listing { entries: Vec::new(), truncated: false };
    for entry in dir.entries()? {
        let entry = entry?;
        if listing.entries.len() == MAX_LIST_ENTRIES {
            listing.truncated = true;
            break;
        }
        // An entry may vanish between being named and being looked at.
        let Ok(metadata) = entry.metadata() else { continue };
        listing.entries.push(Entry {
            name: entry.file_name().to_string_lossy().into_owned(),
            kind: Kind::of(metadata.file_type()),
            bytes: metadata.len(),
        });
    }
    listing.entries.sort_by(|left, right| left.name.cmp(&right.name));
    Ok(listing)
}
