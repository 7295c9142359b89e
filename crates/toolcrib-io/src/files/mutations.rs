//! Changing what is below a root.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use cap_std::fs::{Dir, File, OpenOptions, Permissions};

use super::directory::{Folder, Name};
use super::entry::Kind;
use super::path::explain;
use super::purpose::Purpose;
use super::root::Root;
use super::walk::WalkLimits;
use crate::Error;

/// The maximum nesting of a directory that is removed or moved as a whole. Each level holds a directory open.
pub const MAX_TREE_DEPTH: usize = 64;

/// The maximum number of entries of a directory that is moved as a whole while a guard checks each of them.
const MAX_MOVED_ENTRIES: usize = 100_000;

/// The number of temporary names tried for a file that replaces another. A file left by a crash occupies one.
const MAX_NAMES_TRIED: usize = 100;

/// Tells files of this process apart that are being written.
static WRITES: AtomicU64 = AtomicU64::new(0);

/// The treatment of an existing entry at the destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// It is replaced. A directory is not, unless it is empty and another takes its place.
    Replace,
    /// It stays, and the operation is an error.
    Keep,
}

impl Root {
    /// Replaces the content of a file, or creates it. Its directory must exist. The change is atomic: readers see the old
    /// content or the new one, even if the disk is full. An existing file must be writable and keeps its permissions. A
    /// symlink is followed within the root.
    pub fn write(&self, path: impl AsRef<Path>, bytes: &[u8]) -> Result<(), Error> {
        self.put(path.as_ref(), Existing::Replace, None, |file| file.write_all(bytes))
    }

    /// Writes to the end of a file, which is made if it is not there, and says how large it is then.
    pub fn append(&self, path: impl AsRef<Path>, bytes: &[u8]) -> Result<u64, Error> {
        let path = path.as_ref();
        let failed = |source| explain("write", path, source);
        let mut file = self.open_file(path, OpenOptions::new().append(true).create(true), "write")?;
        file.write_all(bytes).map_err(failed)?;
        Ok(file.metadata().map_err(failed)?.len())
    }

    /// Copies a file of no more than `limit` bytes, and says how large it is. The copy has its permissions, unless it
    /// replaces a file, which keeps its own.
    pub fn copy(
        &self,
        from: impl AsRef<Path>,
        to: impl AsRef<Path>,
        limit: u64,
        existing: Existing,
    ) -> Result<u64, Error> {
        let from = from.as_ref();
        let too_large = || Error::TooLarge { path: from.display().to_string(), limit };
        let source = self.open_file(from, OpenOptions::new().read(true), "read")?;
        let metadata = source.metadata().map_err(|source| explain("read", from, source))?;
        if metadata.len() > limit {
            return Err(too_large());
        }
        // It may have grown since.
        let mut source = source.take(limit.saturating_add(1));
        let permissions = Some(metadata.permissions());
        let copied = self.put(to.as_ref(), existing, permissions, |file| {
            let copied = io::copy(&mut source, file)?;
            if copied > limit { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(copied) }
        });
        copied.map_err(|error| match error {
            Error::FileFailed { source, .. } if source.kind() == io::ErrorKind::FileTooLarge => too_large(),
            error => error,
        })
    }

    /// Gives a file, a directory with all that is in it, or a symlink another place.
    pub fn rename(
        &self,
        from: impl AsRef<Path>,
        to: impl AsRef<Path>,
        existing: Existing,
    ) -> Result<(), Error> {
        let (from, to) = (from.as_ref(), to.as_ref());
        let (source, target) = (self.entry(from, Purpose::Write)?, self.entry(to, Purpose::Write)?);
        let moved =
            source.dir.symlink_metadata(&source.name).map_err(|source| explain("move", from, source))?;
        if moved.is_dir() {
            self.check_moving(from, to)?;
        }
        move_onto((&source.dir, &source.name), (&target.dir, &target.name), existing)
            .map_err(|error| explain("move", if is_about_target(&error) { to } else { from }, error))
    }

    /// Refuses to move a directory that has something in it which may not be moved there. With no guard there is nothing
    /// to refuse.
    fn check_moving(&self, from: &Path, to: &Path) -> Result<(), Error> {
        if self.guard().is_open() {
            return Ok(());
        }
        let walk = self.walk(from, WalkLimits { entries: MAX_MOVED_ENTRIES, depth: MAX_TREE_DEPTH })?;
        let refused =
            |path: &Path| Error::PathNotAllowed { path: path.display().to_string(), operation: "move" };
        if let Some(path) = walk.unreadable.first() {
            return Err(refused(path));
        }
        if walk.truncated {
            let what = "there is more in it than is moved at once; move the directories in it first";
            return Err(explain("move", from, io::Error::new(io::ErrorKind::QuotaExceeded, what)));
        }
        let (source, target) = (self.below(from)?, self.below(to)?);
        for entry in &walk.entries {
            let moved = entry.path.strip_prefix(&source).map(|below| target.join(below));
            let target = moved.as_deref().unwrap_or(&target);
            for path in [entry.path.as_path(), target] {
                self.guard().check_real(path, path, Purpose::Write, "move")?;
            }
        }
        Ok(())
    }

    /// Creates a directory, and those above it that are missing. One that exists is fine.
    pub fn create_dir_all(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        let relative = self.admitted(path, Purpose::Write)?;
        self.dir().create_dir_all(relative).map_err(|source| explain("create", path, source))
    }

    /// Removes a file, or a symlink without what it leads to.
    pub fn remove(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        let entry = self.entry(path, Purpose::Write)?;
        entry.dir.remove_file(&entry.name).map_err(|source| explain("remove", path, source))
    }

    /// Removes a directory and all that is in it, and says how many entries that were, itself among them. Nothing is
    /// removed where they are more than `most`, or nest deeper than [`MAX_TREE_DEPTH`], or where one of them may not be
    /// written to. Between two entries it is asked whether to `go_on`.
    pub fn remove_tree(
        &self,
        path: impl AsRef<Path>,
        most: usize,
        go_on: &dyn Fn() -> bool,
    ) -> Result<usize, Error> {
        let path = path.as_ref();
        let entry = self.entry(path, Purpose::Write)?;
        let name = entry.name.to_str().ok_or_else(|| {
            explain("remove", path, io::Error::new(io::ErrorKind::InvalidFilename, "it is not UTF-8"))
        })?;
        let parent = Folder::of(self, entry.dir, &entry.parent)?;
        let top = Name { name: name.to_owned(), kind: Kind::Directory };
        let mut visit = TreeVisitor { path, most, go_on, seen: 0 };
        visit.each(&parent, &top, 1, &mut |folder, name| folder.check_writing(&name.name))?;
        visit.seen = 0;
        visit.each(&parent, &top, 1, &mut |folder, name| folder.remove(name))?;
        Ok(visit.seen)
    }

    /// Makes a file with what `fill` writes, and then puts it at the path as a whole.
    fn put<T>(
        &self,
        path: &Path,
        existing: Existing,
        permissions: Option<Permissions>,
        fill: impl FnOnce(&mut File) -> io::Result<T>,
    ) -> Result<T, Error> {
        let failed = |source| explain("write", path, source);
        // Looked at by opening it, so that one that may not be written to is refused, and so is what is no file.
        let permissions = match self.open_file(path, OpenOptions::new().write(true), "write") {
            Ok(_) if existing == Existing::Keep => return Err(failed(io::ErrorKind::AlreadyExists.into())),
            Ok(file) => Some(file.metadata().map_err(failed)?.permissions()),
            Err(Error::NotFound { .. }) => permissions,
            Err(error) => return Err(error),
        };
        let mut entry = self.entry(path, Purpose::Write)?;
        if entry.dir.symlink_metadata(&entry.name).is_ok_and(|found| found.is_symlink()) {
            entry = self.entry(&self.real(path, Purpose::Write)?, Purpose::Write)?;
        }
        let (mut file, beside) = new_file(&entry.dir).map_err(failed)?;
        let written = fill(&mut file)
            .and_then(|told| {
                permissions.map_or(Ok(()), |kept| file.set_permissions(plain(&kept))).map(|()| told)
            })
            .and_then(|told| {
                move_onto((&entry.dir, &beside), (&entry.dir, &entry.name), existing).map(|()| told)
            });
        written.map_err(|error| {
            // What is left of it is of no use; that it cannot be removed either tells nothing more.
            let _ = entry.dir.remove_file(&beside);
            failed(error)
        })
    }
}

/// A walk through a directory that is to be removed.
struct TreeVisitor<'a> {
    path: &'a Path,
    most: usize,
    go_on: &'a dyn Fn() -> bool,
    seen: usize,
}

impl TreeVisitor<'_> {
    /// Does something with all that is in an entry, and then with the entry.
    fn each(
        &mut self,
        folder: &Folder,
        name: &Name,
        depth: usize,
        act: &mut dyn FnMut(&Folder, &Name) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let failed = |kind, what: &str| explain("remove", self.path, io::Error::new(kind, what));
        if !(self.go_on)() {
            return Err(failed(io::ErrorKind::Interrupted, "it was given up"));
        }
        if name.kind == Kind::Directory {
            let inner = folder.folder(&name.name)?;
            let names = inner.names()?;
            if names.truncated || self.seen + names.names.len() >= self.most || depth > MAX_TREE_DEPTH {
                let what = "there is more in it than is removed at once; remove the directories in it first";
                return Err(failed(io::ErrorKind::QuotaExceeded, what));
            }
            for entry in &names.names {
                self.each(&inner, entry, depth + 1, act)?;
            }
        }
        self.seen += 1;
        act(folder, name)
    }
}

/// Returns a new file, and its name.
fn new_file(dir: &Dir) -> io::Result<(File, OsString)> {
    let mut tried = 0;
    loop {
        let number = WRITES.fetch_add(1, Ordering::Relaxed);
        let name = OsString::from(format!(".toolcrib.{}.{number}.new", std::process::id()));
        match dir.open_with(&name, OpenOptions::new().write(true).create_new(true)) {
            Ok(file) => return Ok((file, name)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && tried < MAX_NAMES_TRIED => {
                tried += 1;
            }
            Err(error) => return Err(error),
        }
    }
}

/// Returns the permissions to read, write and run, without set-user-ID and set-group-ID.
#[cfg(unix)]
fn plain(permissions: &Permissions) -> Permissions {
    use cap_std::fs::PermissionsExt;
    const READ_WRITE_RUN: u32 = 0o777;
    Permissions::from_mode(permissions.mode() & READ_WRITE_RUN)
}

#[cfg(not(unix))]
fn plain(permissions: &Permissions) -> Permissions {
    permissions.clone()
}

/// Moves an entry of one directory to another, in one step.
fn move_onto(from: (&Dir, &OsString), to: (&Dir, &OsString), existing: Existing) -> io::Result<()> {
    if existing == Existing::Keep {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        {
            use rustix::fs::{RenameFlags, renameat_with};
            use rustix::io::Errno;
            match renameat_with(from.0, from.1, to.0, to.1, RenameFlags::NOREPLACE) {
                // The file system cannot do that.
                Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {}
                moved => return Ok(moved?),
            }
        }
        if to.0.symlink_metadata(to.1).is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
    }
    from.0.rename(from.1, to.0, to.1)
}

fn is_about_target(error: &io::Error) -> bool {
    use io::ErrorKind::{AlreadyExists, DirectoryNotEmpty, IsADirectory, NotADirectory};
    matches!(error.kind(), AlreadyExists | DirectoryNotEmpty | IsADirectory | NotADirectory)
}
