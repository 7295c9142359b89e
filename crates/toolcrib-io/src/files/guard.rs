//! Access checks for files below a root.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::{Dir, Metadata};

use super::path::explain;
use super::protected::ProtectedFiles;
use super::purpose::Purpose;
use crate::Error;

/// The access rules for paths relative to a root.
#[derive(Clone, Default)]
pub(super) struct FileGuard {
    admits: Vec<Arc<FilePredicate>>,
    /// The files that are never written, and the absolute path of the root without symlinks.
    protected: Option<(ProtectedFiles, PathBuf)>,
    /// Set where nothing may be written.
    is_read_only: bool,
}

type FilePredicate = dyn Fn(&Path, Purpose) -> bool + Send + Sync;

impl fmt::Debug for FileGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FileGuard")
    }
}

impl FileGuard {
    pub(super) fn with_admits(
        mut self,
        admits: impl Fn(&Path, Purpose) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.admits.push(Arc::new(admits));
        self
    }

    pub(super) fn with_protected(mut self, files: ProtectedFiles, root: &Path) -> Self {
        self.protected = Some((files, root.to_owned()));
        self
    }

    pub(super) fn only_reading(mut self) -> Self {
        self.is_read_only = true;
        self
    }

    /// Returns true if nothing is refused.
    pub(super) fn is_open(&self) -> bool {
        self.admits.is_empty() && self.protected.is_none() && !self.is_read_only
    }

    /// Checks a path without symlinks. Errors name the path as the caller gave it.
    pub(super) fn check_real(
        &self,
        real: &Path,
        given: &Path,
        purpose: Purpose,
        operation: &'static str,
    ) -> Result<(), Error> {
        self.check_admitted(real, given, purpose, operation)?;
        match &self.protected {
            Some((files, root)) if files.covers(&absolute(root, real), purpose) => {
                Err(protected(given, operation))
            }
            _ => Ok(()),
        }
    }

    fn check_admitted(
        &self,
        relative: &Path,
        given: &Path,
        purpose: Purpose,
        operation: &'static str,
    ) -> Result<(), Error> {
        if self.is_read_only && purpose == Purpose::Write {
            return Err(Error::ReadOnly { path: given.display().to_string() });
        }
        let relative = if relative.as_os_str().is_empty() { Path::new(".") } else { relative };
        if self.admits.iter().all(|admits| admits(relative, purpose)) {
            return Ok(());
        }
        Err(Error::PathNotAllowed { path: given.display().to_string(), operation })
    }

    /// Refuses a protected entry of an open directory, regardless of the path that led to the directory.
    pub(super) fn check_open(&self, dir: &Dir, name: &OsStr, given: &Path) -> Result<(), Error> {
        match &self.protected {
            Some((files, _)) if files.covers_entry(dir, name) => Err(protected(given, Purpose::Write.verb())),
            _ => Ok(()),
        }
    }

    /// Refuses a protected file by its identity, regardless of its name.
    pub(super) fn check_identity(&self, found: &Metadata, given: &Path) -> Result<(), Error> {
        match &self.protected {
            Some((files, _)) if files.covers_identity(found) => Err(protected(given, Purpose::Write.verb())),
            _ => Ok(()),
        }
    }

    /// Checks a path, and the target if it is a symlink. Another process may create a symlink between this check and the
    /// opening; such a symlink cannot leave the root.
    pub(super) fn check(
        &self,
        dir: &Dir,
        relative: &Path,
        given: &Path,
        purpose: Purpose,
    ) -> Result<(), Error> {
        self.check_resolved(dir, relative, given, purpose, real).map(drop)
    }

    /// Checks an entry that is not followed if it is a symlink, for example before it is removed or replaced. For writing,
    /// nothing below it may be protected either.
    pub(super) fn check_entry(
        &self,
        dir: &Dir,
        relative: &Path,
        given: &Path,
        purpose: Purpose,
    ) -> Result<(), Error> {
        let real = self.check_resolved(dir, relative, given, purpose, |dir, relative| {
            let (Some(parent), Some(name)) = (relative.parent(), relative.file_name()) else {
                return real(dir, relative);
            };
            let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
            let parent = real(dir, parent)?;
            Ok(parent.strip_prefix(".").unwrap_or(&parent).join(name))
        })?;
        match &self.protected {
            Some((files, root)) if purpose == Purpose::Write && files.is_below(&absolute(root, &real)) => {
                Err(protected(given, purpose.verb()))
            }
            _ => Ok(()),
        }
    }

    fn check_resolved(
        &self,
        dir: &Dir,
        relative: &Path,
        given: &Path,
        purpose: Purpose,
        real: impl FnOnce(&Dir, &Path) -> io::Result<PathBuf>,
    ) -> Result<PathBuf, Error> {
        let operation = purpose.verb();
        self.check_admitted(relative, given, purpose, operation)?;
        let real = real(dir, relative).map_err(|source| explain(operation, given, source))?;
        self.check_real(&real, given, purpose, operation)?;
        if purpose == Purpose::Write && self.protected.is_some() {
            // A mount or another spelling may lead into a protected folder by a different path.
            for above in real.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()) {
                if let Ok(found) = dir.metadata(above) {
                    self.check_identity(&found, given)?;
                }
            }
        }
        Ok(real)
    }
}

fn absolute(root: &Path, real: &Path) -> PathBuf {
    root.components().chain(real.components()).filter(|part| *part != Component::CurDir).collect()
}

fn protected(given: &Path, operation: &'static str) -> Error {
    Error::FileProtected { path: given.display().to_string(), operation }
}

/// Resolves the symlinks in the existing part of a path.
fn real(dir: &Dir, relative: &Path) -> io::Result<PathBuf> {
    let mut missing: Vec<OsString> = Vec::new();
    let mut existing = relative;
    loop {
        match dir.canonicalize(existing) {
            Ok(mut real) => {
                if real.as_os_str().is_empty() {
                    real.push(".");
                }
                real.extend(missing.into_iter().rev());
                return Ok(real);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // Writing would follow a dangling symlink.
                let is_dangling = dir.symlink_metadata(existing).is_ok_and(|found| found.is_symlink());
                match (existing.parent(), existing.file_name()) {
                    (Some(parent), Some(name)) if !is_dangling => {
                        missing.push(name.to_owned());
                        existing = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
                    }
                    _ => return Err(error),
                }
            }
            Err(error) => return Err(error),
        }
    }
}
