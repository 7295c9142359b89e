//! The root and what can be done below it.

use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, OpenOptions};

use super::entry::{EntryHandle, Flag, Kind};
use super::guard::FileGuard;
use super::path::below;
use super::path::explain;
use super::protected::ProtectedFiles;
use super::purpose::Purpose;
use crate::Error;

/// A directory, and all that is below it. Clones share the handle, and go cheaply to a blocking thread.
#[derive(Clone, Debug)]
pub struct Root {
    dir: Arc<Dir>,
    /// The absolute spellings of the root: as it was given, and without symlinks.
    spellings: Arc<[PathBuf]>,
    guard: FileGuard,
    is_outside_workspace: bool,
}

/// A part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// The offset of the bytes in the file.
    pub offset: u64,
    /// The size of the file at the time of opening, in bytes.
    pub file_bytes: u64,
    /// True if the file continues after the bytes.
    pub truncated: bool,
}

/// The metadata of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// The kind of the file.
    pub kind: Kind,
    /// Its size in bytes.
    pub bytes: u64,
    /// The time of the last modification, if the file system records it.
    pub modified: Option<SystemTime>,
    /// The permission bits, as in `0o644`, on systems that have them.
    pub permissions: Option<u32>,
}

impl Metadata {
    fn of(metadata: &cap_std::fs::Metadata) -> Self {
        Self {
            kind: Kind::of(metadata.file_type()),
            bytes: metadata.len(),
            modified: metadata.modified().ok().map(cap_std::time::SystemTime::into_std),
            permissions: permission_bits(&metadata.permissions()),
        }
    }
}

impl Root {
    /// Opens a directory as a root.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let failed = |source| explain("open", path, source);
        let canonical = path.canonicalize().map_err(failed)?;
        let given = std::path::absolute(path).map_err(failed)?;
        let dir = Dir::open_ambient_dir(&canonical, ambient_authority()).map_err(failed)?;
        Ok(Self {
            dir: Arc::new(dir),
            spellings: Arc::new([given, canonical]),
            guard: FileGuard::default(),
            is_outside_workspace: false,
        })
    }

    /// Opens a directory, which is made with all above it where it is not there.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        Dir::create_ambient_dir_all(path, ambient_authority())
            .map_err(|source| explain("create", path, source))?;
        Self::open(path)
    }

    /// Lets only those paths be reached that the guard admits, in addition to earlier guards. It is asked about paths relative to the root, of which
    /// `.` is the root itself: about the one that was given, and about where its symlinks lead.
    pub fn with_guard(mut self, admits: impl Fn(&Path, Purpose) -> bool + Send + Sync + 'static) -> Self {
        self.guard = self.guard.with_admits(admits);
        self
    }

    /// Refuses changes to these files regardless of the path to them, and reads of the hidden ones.
    pub fn with_protected(mut self, files: ProtectedFiles) -> Self {
        let root = self.path().to_owned();
        self.guard = self.guard.with_protected(files, &root);
        self
    }

    /// Refuses all changes.
    pub fn only_read(mut self) -> Self {
        self.guard = self.guard.only_reading();
        self
    }

    /// Marks a root other than the workspace. Its paths are reported as absolute paths.
    pub fn outside_workspace(mut self) -> Self {
        self.is_outside_workspace = true;
        self
    }

    /// Returns true for a root other than the workspace.
    pub fn is_outside_workspace(&self) -> bool {
        self.is_outside_workspace
    }

    /// Returns whether an absolute path begins with this root, as it was given or without symlinks.
    pub fn spells(&self, path: impl AsRef<Path>) -> bool {
        let path = path.as_ref();
        path.is_absolute() && below(&self.spellings, path).is_ok()
    }

    /// Refuses a path that may not be written to, before there is anything to write. Nothing needs to be there.
    pub fn check_write(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        let relative = self.admitted(path, Purpose::Write)?;
        match self.dir.metadata(relative) {
            Ok(found) => self.guard.check_identity(&found, path),
            Err(_) => Ok(()),
        }
    }

    /// Returns the absolute path of the root, without symlinks, as it was when it was opened.
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

    /// Returns the metadata of the file at a path. Symlinks are followed within the root.
    pub fn metadata(&self, path: impl AsRef<Path>) -> Result<Metadata, Error> {
        let path = path.as_ref();
        let relative = self.admitted(path, Purpose::Read)?;
        let metadata = self.dir.metadata(relative).map_err(|source| explain("look at", path, source))?;
        Ok(Metadata::of(&metadata))
    }

    /// Returns the metadata of the entry at a path. Symlinks are not followed.
    pub fn symlink_metadata(&self, path: impl AsRef<Path>) -> Result<Metadata, Error> {
        let path = path.as_ref();
        if below(&self.spellings, path)? == Path::new(".") {
            return self.metadata(path);
        }
        let entry = self.entry(path, Purpose::Read)?;
        let metadata =
            entry.dir.symlink_metadata(&entry.name).map_err(|source| explain("look at", path, source))?;
        Ok(Metadata::of(&metadata))
    }

    /// Returns the target of a symlink, which may be outside of the root.
    pub fn read_link(&self, path: impl AsRef<Path>) -> Result<PathBuf, Error> {
        let path = path.as_ref();
        let entry = self.entry(path, Purpose::Read)?;
        entry.dir.read_link_contents(&entry.name).map_err(|source| explain("read", path, source))
    }

    /// Returns true if the path exists. A dangling symlink does not.
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

    /// Returns the path relative to the root.
    pub(super) fn below(&self, path: &Path) -> Result<PathBuf, Error> {
        below(&self.spellings, path)
    }

    /// Returns what decides which paths may be reached.
    pub(super) fn guard(&self) -> &FileGuard {
        &self.guard
    }

    /// Returns the handle.
    pub(super) fn dir(&self) -> &Dir {
        &self.dir
    }

    /// Returns the path relative to the root and without symlinks, if it may be reached; empty for the root itself.
    pub(super) fn real(&self, path: &Path, purpose: Purpose) -> Result<PathBuf, Error> {
        let relative = self.admitted(path, purpose)?;
        let real = self.dir.canonicalize(relative).map_err(|source| explain("look at", path, source))?;
        Ok(real.strip_prefix(".").map(Path::to_path_buf).unwrap_or(real))
    }

    /// Opens the directory of an entry. The entry itself is not followed and need not exist. The root is not an entry.
    pub(super) fn entry(&self, path: &Path, purpose: Purpose) -> Result<EntryHandle, Error> {
        let relative = below(&self.spellings, path)?;
        let name = relative.file_name().map(ToOwned::to_owned);
        let (Some(name), Some(parent)) = (name, relative.parent()) else {
            return Err(Error::OutsideRoot {
                path: path.display().to_string(),
                reason: "it is the root itself",
            });
        };
        let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
        if !self.guard.is_open() {
            self.guard.check_entry(&self.dir, &relative, path, purpose)?;
        }
        let dir = self.dir.open_dir(parent).map_err(|source| explain(purpose.verb(), path, source))?;
        if purpose == Purpose::Write {
            self.guard.check_open(&dir, &name, path)?;
        }
        Ok(EntryHandle { dir, name, parent: parent.to_owned() })
    }

    /// Returns the path relative to the root, if it may be reached.
    pub(super) fn admitted(&self, path: &Path, purpose: Purpose) -> Result<PathBuf, Error> {
        let relative = below(&self.spellings, path)?;
        if !self.guard.is_open() {
            self.guard.check(&self.dir, &relative, path, purpose)?;
        }
        Ok(relative)
    }

    /// Opens a file, and nothing but a file: a FIFO would block, a device may do anything.
    pub(super) fn open_file(
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
        // A known device is not even opened, since opening it may have effects.
        match self.dir.metadata(&relative) {
            Ok(found) if !found.is_file() => return Err(not_a_file()),
            _ => {}
        }
        without_waiting(options, &[]);
        let file = self.dir.open_with(relative, options).map_err(failed)?;
        only_file(&file, path, operation)?;
        if purpose == Purpose::Write {
            let opened = file.metadata().map_err(|source| explain(operation, path, source))?;
            self.guard.check_identity(&opened, path)?;
        }
        Ok(file)
    }
}

/// Returns the size of an open file; an error if it is something else.
pub(super) fn only_file(file: &File, path: &Path, operation: &'static str) -> Result<u64, Error> {
    let metadata = file.metadata().map_err(|source| explain(operation, path, source))?;
    if metadata.is_file() {
        Ok(metadata.len())
    } else {
        Err(Error::WrongKind { path: path.display().to_string(), expected: "file" })
    }
}

/// Has the opening of a FIFO return at once, so that it can be refused.
#[cfg(unix)]
pub(super) fn without_waiting(options: &mut OpenOptions, more: &[Flag]) {
    use cap_std::fs::OpenOptionsExt;
    use rustix::fs::OFlags;
    let flags = more.iter().fold(OFlags::NONBLOCK | OFlags::NOCTTY, |flags, flag| {
        flags
            | match flag {
                Flag::NoFollow => OFlags::NOFOLLOW,
                Flag::Directory => OFlags::DIRECTORY,
            }
    });
    options.custom_flags(flags.bits().cast_signed());
}

#[cfg(not(unix))]
pub(super) fn without_waiting(_options: &mut OpenOptions, _more: &[Flag]) {}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "other systems have none")]
fn permission_bits(permissions: &cap_std::fs::Permissions) -> Option<u32> {
    use cap_std::fs::PermissionsExt;
    const PERMISSIONS: u32 = 0o7777;
    Some(permissions.mode() & PERMISSIONS)
}

#[cfg(not(unix))]
fn permission_bits(_permissions: &cap_std::fs::Permissions) -> Option<u32> {
    None
}
