//! Files below a root directory, opened relative to its handle.
//!
//! A [`Root`] is a handle, not a prefix: the system walks each path from it and stops where a step, or a symlink met
//! on the way, leads out. Moving the directory or swapping a symlink between two operations changes nothing about
//! that. A hard link to a file outside cannot be told from a file of the root, unless that file is among those that are
//! [protected](ProtectedFiles).
//!
//! All of it blocks: in async code, call it on a blocking thread.

mod entry;
mod guard;
mod path;
mod protected;
mod purpose;
mod root;

mod directory;
mod listing;
mod mutations;
mod walk;

mod atomic_replace;
mod bounded;
mod locked_update;
mod mapped;
mod rotating_file;
mod user_folders;
#[cfg(feature = "watch")]
mod watch;

#[cfg(unix)]
#[cfg(test)]
mod line_tests;
#[cfg(unix)]
#[cfg(test)]
mod protected_tests;
#[cfg(all(unix, feature = "watch"))]
#[cfg(test)]
mod tests;

pub use atomic_replace::{make_private, replace, replace_private};
pub use bounded::read_bounded;
pub use directory::{Folder, Name, Names, OpenFile};
pub use entry::Kind;
pub use listing::{Entry, Listing, MAX_LIST_ENTRIES};
pub use locked_update::update;
pub use mapped::map_bounded;
pub use mutations::{Existing, MAX_TREE_DEPTH};
pub use protected::{MAX_PROTECTED, PROTECTED_HINT, ProtectedFiles, ProtectionGuard};
pub use purpose::Purpose;
pub use root::{Metadata, Root, Slice};
pub use user_folders::{cache_folder, state_folder};
pub use walk::{DEFAULT_WALK_DEPTH, DEFAULT_WALK_ENTRIES, MAX_WALK_DEPTH, Walk, WalkEntry, WalkLimits};
#[cfg(feature = "watch")]
pub use watch::Watch;
