//! An entry of a directory: its kind, and handles to it.

use std::ffi::OsString;
use std::path::PathBuf;

use cap_std::fs::{Dir, FileType};

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A FIFO, a socket, a device. It cannot be opened here.
    Other,
}

impl Kind {
    pub(super) fn of(file_type: FileType) -> Self {
        if file_type.is_file() {
            Self::File
        } else if file_type.is_dir() {
            Self::Directory
        } else if file_type.is_symlink() {
            Self::Symlink
        } else {
            Self::Other
        }
    }
}

/// An open directory, and the name of an entry in it, which may be there or not.
pub(super) struct EntryHandle {
    pub(super) dir: Dir,
    pub(super) name: OsString,
    /// The path of the directory, relative to the root.
    pub(super) parent: PathBuf,
}

/// A flag for opening an entry of a directory.
#[derive(Clone, Copy)]
pub(super) enum Flag {
    /// A symlink is an error.
    NoFollow,
    /// Anything but a directory is an error.
    Directory,
}
