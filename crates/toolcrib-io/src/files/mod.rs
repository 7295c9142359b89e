//! Files below a root directory, opened relative to its handle.
//!
//! A [`Root`] is a handle, not a prefix: the system walks each path from it and stops where a step, or a symlink met
//! on the way, leads out. Moving the directory or swapping a symlink between two operations changes nothing about
//! that. A hard link to a file outside cannot be told from a file of the root, unless that file is among those that are
//! [protected](ProtectedFiles).
//!
//! All of it blocks: in async code, call it on a blocking thread.

mod guard;
mod path;
mod protected;
mod root;

mod change;
mod folder;
mod listing;
mod walk;

mod bounded;
mod lines;
mod replace;
mod update;
mod watch;

#[cfg(unix)]
#[cfg(test)]
mod line_tests;
#[cfg(unix)]
#[cfg(test)]
mod protected_tests;
#[cfg(unix)]
#[cfg(test)]
mod tests;

pub use bounded::read_bounded;
pub use change::{Existing, MAX_MOVED_ENTRIES, MAX_TREE_DEPTH};
pub use folder::{Folder, Name, Names, OpenFile};
pub use guard::Purpose;
pub use listing::{Entry, Kind, Listing, MAX_LIST_ENTRIES};
pub use protected::{MAX_PROTECTED, ProtectedFiles, ProtectionGuard};
pub use replace::{make_private, replace};
pub use root::{Metadata, Root, Slice};
pub use update::{MAX_LOCK_WAIT, update};
pub use walk::{DEFAULT_WALK_DEPTH, DEFAULT_WALK_ENTRIES, MAX_WALK_DEPTH, Walk, WalkEntry, WalkLimits};
pub use watch::{MAX_SETTLE_TIME, MAX_WATCHED_FOLDERS, SETTLE_TIME, Watch};
