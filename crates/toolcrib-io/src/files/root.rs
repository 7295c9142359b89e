//! The root and what can be done below it.

use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, OpenOptions};

use super::guard::{Guard, Purpose};
use super::listing::Kind;
use super::path::{below, explain};
use crate::Error;

/// A directory, and all that is below it. Clones share the handle, and go cheaply to a blocking thread.
#[derive(Clone, Debug)]
pub struct Root {
    dir: Arc<Dir>,
    /// The absolute spellings of the root: as it was given, and without symlinks.
    spellings: Arc<[PathBuf]>,
    guard: Option<Guard>,
}

/// A part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Where in the file they begin.
    pub offset: u64,
    /// How large the file was when it was opened, in bytes.
    pub file_bytes: u64,
    /// Whether the file goes on behind them.
    pub truncated: bool,
}

/// What there is to know of a file without opening it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// What it is; never a symlink, since they are followed.
    pub kind: Kind,
    /// Its size in bytes.
    pub bytes: u64,
    /// When it was last written to, where the file system keeps that.
    pub modified: Option<SystemTime>,
}

impl Root {
    /// Opens a directory as a root.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let failed = |source| explain("open", path, source);
        let canonical = path.canonicalize().map_err(failed)?;
        let given = std::path::absolute(path).map_err(failed)?;
        let dir = Dir::open_ambient_dir(&canonical, ambient_authority()).map_err(failed)?;
        Ok(Self { dir: Arc::new(dir), spellings: Arc::new([given, canonical]), guard: None })
    }

    /// Opens a directory, which is made with all above it where it is not there.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        Dir::create_ambient_dir_all(path, ambient_authority())
            .map_err(|source| explain("create", path, source))?;
        Self::open(path)
    }

    /// Lets only those paths be reached that the guard admits. It is asked about paths relative to the root, of which
    /// `.` is the root itself: about the one that was given, and about where its symlinks lead.
    pub fn with_guard(mut self, admits: impl Fn(&Path, Purpose) -> bool + Send + Sync + 'static) -> Self {
        self.guard = Some(Guard::new(admits));
        self
    }

    /// The absolute path of the root, without symlinks, as it was when it was opened.
    pub fn path(&self) -> &Path {
        self.spellings.last().map_or(Path::new("."), PathBuf::as_path)
    }

    /// Reads up to `limit` bytes of a file, from `offset` on. Behind its end there is nothing to read, which is no
    /// error.
    pub fn read(&self, path: impl AsRef<Path>, offset: u64, limit: usize) -> Result<Slice, Error> {
        let path = path.as_ref();
        let failed = |source| explain("read", path, source);
        let mut file = self.open_file(path, OpenOptions::new().read(true), "read")?;
        let file_bytes = file.metadata().map_err(failed)?.len();
        file.seek(SeekFrom::Start(offset)).map_err(failed)?;
        // One byte more tells whether there is more. The size does not: the file may be growing.
        let wanted = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
        let mut bytes = Vec::new();
        file.take(wanted).read_to_end(&mut bytes).map_err(failed)?;
        let truncated = bytes.len() > limit;
        bytes.truncate(limit);
        Ok(Slice { bytes, offset, file_bytes, truncated })
    }

    /// Writes a file anew. Its directory must exist. A file that was there keeps its permissions, and is cut short if
    /// the disk is full.
    pub fn write(&self, path: impl AsRef<Path>, bytes: &[u8]) -> Result<(), Error> {
        let path = path.as_ref();
        let failed = |source| explain("write", path, source);
        // Cut only once it is known to be a file.
        let mut file = self.open_file(path, OpenOptions::new().write(true).create(true), "write")?;
        file.set_len(0).map_err(failed)?;
        file.write_all(bytes).map_err(failed)
    }

    /// Creates a directory, and those above it that are missing. One that exists is fine.
    pub fn create_dir_all(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        let relative = self.admitted(path, Purpose::Write)?;
        self.dir.create_dir_all(relative).map_err(|source| explain("create", path, source))
    }

    /// Removes a file, or a symlink without what it leads to.
    pub fn remove(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        let relative = self.admitted(path, Purpose::Write)?;
        self.dir.remove_file(relative).map_err(|source| explain("remove", path, source))
    }

    /// What is at the path. Symlinks are followed within the root.
    pub fn metadata(&self, path: impl AsRef<Path>) -> Result<Metadata, Error> {
        let path = path.as_ref();
        let relative = self.admitted(path, Purpose::Read)?;
        let metadata = self.dir.metadata(relative).map_err(|source| explain("look at", path, source))?;
        Ok(Metadata {
            kind: Kind::of(metadata.file_type()),
            bytes: metadata.len(),
            modified: metadata.modified().ok().map(cap_std::time::SystemTime::into_std),
        })
    }

    /// Whether there is anything at the path. A symlink that leads nowhere is nothing.
    pub fn exists(&self, path: impl AsRef<Path>) -> Result<bool, Error> {
        match self.metadata(path) {
            Ok(_) => Ok(true),
            Err(Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Opens a directory below the root, or the root.
    pub(super) fn open_dir(&self, path: &Path) -> Result<Dir, Error> {
        let relative = self.admitted(path, Purpose::Read)?;
        self.dir.open_dir(relative).map_err(|source| explain("list", path, source))
    }

    /// The path relative to the root.
    pub(super) fn below(&self, path: &Path) -> Result<PathBuf, Error> {
        below(&self.spellings, path)
    }

    /// Whether a path without symlinks may be read.
    pub(super) fn admits_reading(&self, relative: &Path) -> bool {
        self.guard.as_ref().is_none_or(|guard| guard.admits(relative, Purpose::Read))
    }

    /// The path relative to the root, if it may be reached.
    fn admitted(&self, path: &Path, purpose: Purpose) -> Result<PathBuf, Error> {
        let relative = below(&self.spellings, path)?;
        if let Some(guard) = &self.guard {
            guard.check(&self.dir, &relative, path, purpose)?;
        }
        Ok(relative)
    }

    /// Opens a file, and nothing but a file: a FIFO would block, a device may do anything.
    fn open_file(
        &self,
        path: &Path,
        options: &mut OpenOptions,
        operation: &'static str,
    ) -> Result<File, Error> {
        let failed = |source| explain(operation, path, source);
        let purpose = if operation == "read" { Purpose::Read } else { Purpose::Write };
        let relative = self.admitted(path, purpose)?;
        let not_a_file = || Error::WrongKind { path: path.display().to_string(), expected: "file" };
        if relative == Path::new(".") {
            return Err(not_a_file());
        }
        do_not_block(options);
        let file = self.dir.open_with(relative, options).map_err(failed)?;
        if file.metadata().map_err(failed)?.is_file() { Ok(file) } else { Err(not_a_file()) }
    }
}

/// Has the opening of a FIFO return at once, so that it can be refused.
#[cfg(unix)]
fn do_not_block(options: &mut OpenOptions) {
    use cap_std::fs::OpenOptionsExt;
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    options.custom_flags(flags);
}

#[cfg(not(unix))]
fn do_not_block(_options: &mut OpenOptions) {}
