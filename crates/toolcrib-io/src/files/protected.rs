//! Files that no root may change, regardless of the path to them.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::{Dir, Metadata};
use parking_lot::RwLock;

use super::purpose::Purpose;

/// The maximum number of protected files and folders. Further ones are not protected, and the log says so.
pub const MAX_PROTECTED: usize = 4096;

/// The advice for those whose path is protected.
pub const PROTECTED_HINT: &str = "use another path, or ask the user to change it";

/// The maximum number of symlinks followed from a protected path, the same as in Linux.
const MAX_LINKS: usize = 40;

/// The maximum number of entries of a protected folder that are compared with a file that has several hard links. In a
/// larger folder, every such file counts as one of them.
const MAX_COMPARED_ENTRIES: usize = 10_000;

/// A set of files and folders that a [`Root`](super::Root) refuses to write, replace, move and remove, for example those
/// that the running program was configured by.
///
/// They are recognized by path (without regard to case, since some file systems have none), by the directory that they
/// are in, and by identity, so that neither a symlink nor a hard link leads around it. A path may be protected before
/// there is anything at it. A directory above a protected path cannot be moved or removed either. Clones share the set.
#[derive(Clone, Debug, Default)]
pub struct ProtectedFiles {
    entries: Arc<RwLock<Vec<Protected>>>,
}

/// Protects some files until it is dropped.
#[derive(Debug)]
pub struct ProtectionGuard {
    files: ProtectedFiles,
    key: Arc<()>,
}

impl Drop for ProtectionGuard {
    fn drop(&mut self) {
        let mut entries = self.files.entries.write();
        entries.retain(|entry| !entry.key.as_ref().is_some_and(|key| Arc::ptr_eq(key, &self.key)));
    }
}

#[derive(Clone, Debug)]
struct Protected {
    /// The path as it was given, made absolute.
    path: PathBuf,
    /// The resolved steps: each symlink on the way and finally the file, all without symlinks in their parents.
    steps: Vec<PathBuf>,
    kind: Protection,
    /// The key of the [`ProtectionGuard`] that ends this protection, if one does.
    key: Option<Arc<()>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Protection {
    /// True if the whole content is protected as well.
    is_folder: bool,
    /// True if reading is refused as well.
    is_hidden: bool,
}

impl Protection {
    fn forbids(self, purpose: Purpose) -> bool {
        purpose == Purpose::Write || self.is_hidden
    }
}

impl ProtectedFiles {
    /// Protects a file. It need not exist.
    pub fn protect_file(&self, path: impl AsRef<Path>) {
        self.add(path.as_ref(), Protection { is_folder: false, is_hidden: false });
    }

    /// Protects a file, also from being read. It need not exist.
    pub fn hide_file(&self, path: impl AsRef<Path>) {
        self.add(path.as_ref(), Protection { is_folder: false, is_hidden: true });
    }

    /// Protects a folder and all that is in it. It need not exist.
    pub fn protect_folder(&self, path: impl AsRef<Path>) {
        self.add(path.as_ref(), Protection { is_folder: true, is_hidden: false });
    }

    /// Protects a folder and all that is in it, also from being read.
    pub fn hide_folder(&self, path: impl AsRef<Path>) {
        self.add(path.as_ref(), Protection { is_folder: true, is_hidden: true });
    }

    /// Returns the paths that are protected for good, as they were given.
    pub fn paths(&self) -> Vec<PathBuf> {
        let entries = self.entries.read();
        entries.iter().filter(|entry| entry.key.is_none()).map(|entry| entry.path.clone()).collect()
    }

    fn add(&self, path: &Path, kind: Protection) {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let steps = steps(&path);
        let mut entries = self.entries.write();
        let is_same = |known: &Protected| {
            known.path == path && known.kind == kind && known.steps == steps && known.key.is_none()
        };
        if entries.iter().any(is_same) {
            return;
        }
        if entries.len() >= MAX_PROTECTED {
            tracing::warn!(path = %path.display(), "too many files are protected; tools may change this one");
            return;
        }
        entries.push(Protected { path, steps, kind, key: None });
    }

    /// Protects files until the guard is dropped; `None` where there are [`MAX_PROTECTED`] already.
    pub fn protect_while(&self, paths: impl IntoIterator<Item = PathBuf>) -> Option<ProtectionGuard> {
        let key = Arc::new(());
        let kind = Protection { is_folder: false, is_hidden: false };
        let new = paths.into_iter().map(|path| Protected {
            steps: steps(&path),
            path,
            kind,
            key: Some(Arc::clone(&key)),
        });
        let new: Vec<_> = new.collect();
        let mut entries = self.entries.write();
        if entries.len() + new.len() > MAX_PROTECTED {
            return None;
        }
        entries.extend(new);
        drop(entries);
        Some(ProtectionGuard { files: self.clone(), key })
    }

    fn any(&self, matches: impl Fn(&Protected) -> bool) -> bool {
        self.entries.read().iter().any(matches)
    }

    /// Returns true if an absolute path without symlinks is protected.
    pub(super) fn covers(&self, path: &Path, purpose: Purpose) -> bool {
        let path = folded(path);
        self.any(|entry| {
            entry.kind.forbids(purpose)
                && entry.steps.iter().any(|step| {
                    let step = folded(step);
                    path == step || (entry.kind.is_folder && path.starts_with(step))
                })
        })
    }

    /// Returns true if something protected is at or below an absolute path without symlinks.
    pub(super) fn is_below(&self, path: &Path) -> bool {
        let path = folded(path);
        self.any(|entry| entry.steps.iter().any(|step| folded(step).starts_with(&path)))
    }

    /// Returns true if an entry of an open directory is protected, even if the directory was moved.
    pub(super) fn covers_entry(&self, dir: &Dir, name: &OsStr) -> bool {
        let Ok(dir) = dir.dir_metadata().map(|metadata| identity(&metadata)) else { return true };
        let name = folded(Path::new(name));
        self.any(|entry| {
            let is_in = |folder: &Path| dir.is_some() && identity_at(folder) == dir;
            let is_step = |step: &PathBuf| {
                let (parent, last) = (step.parent(), step.file_name());
                last.is_some_and(|last| folded(Path::new(last)) == name) && parent.is_some_and(is_in)
            };
            entry.steps.iter().any(|step| is_step(step) || (entry.kind.is_folder && is_in(step)))
        })
    }

    /// Returns true if an existing file or directory is protected under another name.
    pub(super) fn covers_identity(&self, found: &Metadata) -> bool {
        let identity = identity(found);
        if identity.is_none() {
            return false;
        }
        self.any(|entry| {
            identity_at(&entry.path) == identity
                || (entry.kind.is_folder && has_other_names(found) && holds(&entry.path, identity))
        })
    }
}

/// Returns where a path leads: each symlink on the way, and what is behind the last. What is missing is taken to be no
/// symlink.
fn steps(path: &Path) -> Vec<PathBuf> {
    let mut pending: VecDeque<PathBuf> =
        path.components().map(|part| PathBuf::from(part.as_os_str())).collect();
    let (mut real, mut steps) = (PathBuf::new(), Vec::new());
    while let Some(part) = pending.pop_front() {
        match part.components().next() {
            Some(Component::ParentDir) => {
                real.pop();
            }
            Some(Component::Normal(name)) => {
                let next = real.join(name);
                let target = fs::read_link(&next).ok().filter(|_| steps.len() < MAX_LINKS);
                let Some(target) = target else {
                    real = next;
                    continue;
                };
                steps.push(next);
                if target.is_absolute() {
                    real = PathBuf::new();
                }
                for part in target.components().rev() {
                    pending.push_front(PathBuf::from(part.as_os_str()));
                }
            }
            Some(Component::Prefix(_) | Component::RootDir) => real.push(part),
            Some(Component::CurDir) | None => {}
        }
    }
    steps.push(real);
    steps
}

/// Returns a path as file systems without regard to case see it.
fn folded(path: &Path) -> PathBuf {
    path.to_string_lossy().to_lowercase().into()
}

/// The device and number that tell a file from all others, on systems that have them.
type Identity = Option<(u64, u64)>;

/// Returns the identity of what is at a path, symlinks followed.
#[cfg(unix)]
fn identity_at(path: &Path) -> Identity {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "other systems know no identity")]
fn identity(found: &Metadata) -> Identity {
    use cap_std::fs::MetadataExt;
    Some((found.dev(), found.ino()))
}

#[cfg(unix)]
fn has_other_names(found: &Metadata) -> bool {
    use cap_std::fs::MetadataExt;
    found.is_file() && found.nlink() > 1
}

#[cfg(not(unix))]
fn identity_at(_path: &Path) -> Identity {
    None
}

#[cfg(not(unix))]
fn identity(_found: &Metadata) -> Identity {
    None
}

#[cfg(not(unix))]
fn has_other_names(_found: &Metadata) -> bool {
    false
}

/// Returns whether a file is in a folder, at any depth. Where the folder is too large to tell, or cannot be read, it is.
fn holds(folder: &Path, wanted: Identity) -> bool {
    let (mut folders, mut compared) = (vec![folder.to_owned()], 0);
    while let Some(folder) = folders.pop() {
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(_) => return true,
        };
        for entry in entries.flatten() {
            compared += 1;
            if compared > MAX_COMPARED_ENTRIES || identity_of_entry(&entry) == wanted {
                return true;
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(entry.path());
            }
        }
    }
    false
}

#[cfg(unix)]
fn identity_of_entry(entry: &fs::DirEntry) -> Identity {
    use std::os::unix::fs::MetadataExt;
    entry.metadata().ok().map(|found| (found.dev(), found.ino()))
}

#[cfg(not(unix))]
fn identity_of_entry(_entry: &fs::DirEntry) -> Identity {
    None
}
