//! An open directory, whose entries are reached by name and never through a symlink.

use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use cap_std::fs::{Dir, File, OpenOptions};

use super::entry::{Flag, Kind};
use super::listing::MAX_LIST_ENTRIES;
use super::path::explain;
use super::purpose::Purpose;
use super::root::{Root, only_file, without_waiting};
use crate::Error;

/// An open directory below a root. Entries are opened relative to its handle, one name at a time, so a directory that is
/// swapped for a symlink in the meantime is refused.
#[derive(Debug)]
pub struct Folder {
    root: Root,
    dir: Dir,
    /// The path relative to the root, without symlinks; empty for the root itself.
    real: PathBuf,
}

/// One of the names in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The name, with invalid UTF-8 replaced.
    pub name: String,
    /// The kind of the entry. Symlinks are not followed.
    pub kind: Kind,
}

/// The names in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// The names, in order.
    pub names: Vec<Name>,
    /// True if the directory has more than [`MAX_LIST_ENTRIES`] entries, and some were left out.
    pub truncated: bool,
}

/// A file that was opened to be read.
#[derive(Debug)]
pub struct OpenFile {
    file: File,
    size: u64,
}

impl OpenFile {
    /// Returns the size in bytes at the time of opening.
    pub fn size(&self) -> u64 {
        self.size
    }
}

impl Read for OpenFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read(buffer)
    }
}

impl Root {
    /// Opens a directory. Symlinks on the way are followed within the root.
    pub fn folder(&self, path: impl AsRef<Path>) -> Result<Folder, Error> {
        let path = path.as_ref();
        let real = self.real(path, Purpose::Read)?;
        Ok(Folder { root: self.clone(), dir: self.open_dir(path)?, real })
    }

    /// Opens a file to read it. Symlinks are followed within the root.
    pub fn open_to_read(&self, path: impl AsRef<Path>) -> Result<OpenFile, Error> {
        let path = path.as_ref();
        let file = self.open_file(path, OpenOptions::new().read(true), "read")?;
        let size = file.metadata().map_err(|source| explain("read", path, source))?.len();
        Ok(OpenFile { file, size })
    }
}

impl Folder {
    /// Wraps a directory whose opening was checked already, for example before removing entries from it.
    pub(super) fn of(root: &Root, dir: Dir, path: &Path) -> Result<Self, Error> {
        let real = root.dir().canonicalize(path).map_err(|source| explain("look at", path, source))?;
        let real = real.strip_prefix(".").map(Path::to_path_buf).unwrap_or(real);
        Ok(Self { root: root.clone(), dir, real })
    }

    /// Returns the names in it.
    pub fn names(&self) -> Result<Names, Error> {
        names(&self.dir).map_err(|source| explain("list", &self.real, source))
    }

    /// Opens a directory in it.
    pub fn folder(&self, name: &str) -> Result<Self, Error> {
        let real = self.inside(name, Purpose::Read, "list")?;
        let dir = open_folder(&self.dir, name).map_err(|source| explain("list", &real, source))?;
        Ok(Self { root: self.root.clone(), dir, real })
    }

    /// Opens a file in it, to read it.
    pub fn open_to_read(&self, name: &str) -> Result<OpenFile, Error> {
        let real = self.inside(name, Purpose::Read, "read")?;
        let mut options = OpenOptions::new();
        options.read(true);
        without_waiting(&mut options, &[Flag::NoFollow]);
        let file = self.dir.open_with(name, &options).map_err(|source| explain("read", &real, source))?;
        let size = only_file(&file, &real, "read")?;
        Ok(OpenFile { file, size })
    }

    /// Removes an entry: a file, a symlink but not its target, or an empty directory.
    pub(super) fn remove(&self, name: &Name) -> Result<(), Error> {
        let real = self.inside(&name.name, Purpose::Write, "write")?;
        let removed = match name.kind {
            Kind::Directory => self.dir.remove_dir(&name.name),
            Kind::File | Kind::Symlink | Kind::Other => self.dir.remove_file(&name.name),
        };
        removed.map_err(|source| explain("remove", &real, source))
    }

    /// Refuses an entry that may not be written to.
    pub(super) fn check_writing(&self, name: &str) -> Result<(), Error> {
        self.inside(name, Purpose::Write, "write").map(drop)
    }

    /// Returns the path of an entry, after checking that the name is a single component that may be accessed.
    fn inside(&self, name: &str, purpose: Purpose, operation: &'static str) -> Result<PathBuf, Error> {
        let real = self.real.join(name);
        let given = || real.display().to_string();
        let mut steps = Path::new(name).components();
        if !matches!((steps.next(), steps.next()), (Some(Component::Normal(only)), None) if only == name) {
            return Err(Error::OutsideRoot { path: given(), reason: "it is not a name" });
        }
        self.root.guard().check_real(&real, &real, purpose, operation)?;
        if purpose == Purpose::Write {
            self.root.guard().check_open(&self.dir, name.as_ref(), &real)?;
        }
        Ok(real)
    }
}

/// Opens a directory in an open one, and no symlink.
pub(super) fn open_folder(dir: &Dir, name: impl AsRef<Path>) -> io::Result<Dir> {
    let mut options = OpenOptions::new();
    options.read(true);
    without_waiting(&mut options, &[Flag::NoFollow, Flag::Directory]);
    let opened = dir.open_with(name, &options)?;
    if !opened.metadata()?.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    Ok(Dir::from_std_file(opened.into_std()))
}

fn names(dir: &Dir) -> io::Result<Names> {
    let mut found = Names { names: Vec::new(), truncated: false };
    for entry in dir.entries()? {
        let entry = entry?;
        if found.names.len() == MAX_LIST_ENTRIES {
            found.truncated = true;
            break;
        }
        // Most file systems tell the kind with the name; for what is rare or unknown, the entry itself is looked at. It may
        // be gone by then.
        let Ok(mut kind) = entry.file_type().map(Kind::of) else { continue };
        if kind == Kind::Other {
            let Ok(metadata) = entry.metadata() else { continue };
            kind = Kind::of(metadata.file_type());
        }
        found.names.push(Name { name: entry.file_name().to_string_lossy().into_owned(), kind });
    }
    found.names.sort_by(|left, right| left.name.cmp(&right.name));
    Ok(found)
}
