//! Which files below a root may be reached.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::Dir;

use super::path::explain;
use crate::Error;

/// What is to be done with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Reading it, listing it, or looking at it.
    Read,
    /// Writing or creating it.
    Write,
}

impl Purpose {
    /// What is done, as in "may not … `path`".
    pub(super) fn verb(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

/// Says of paths relative to the root whether they may be reached.
#[derive(Clone)]
pub(super) struct Guard(Arc<Admits>);

type Admits = dyn Fn(&Path, Purpose) -> bool + Send + Sync;

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Guard")
    }
}

impl Guard {
    pub(super) fn new(admits: impl Fn(&Path, Purpose) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(admits))
    }

    pub(super) fn admits(&self, relative: &Path, purpose: Purpose) -> bool {
        (self.0)(relative, purpose)
    }

    /// Refuses a path that may not be reached, and one that a symlink leads to such a place. Between this look and the
    /// opening somebody else may put a symlink there, which then leads no further than the root.
    pub(super) fn check(
        &self,
        dir: &Dir,
        relative: &Path,
        given: &Path,
        purpose: Purpose,
    ) -> Result<(), Error> {
        self.check_real(dir, relative, given, purpose, real)
    }

    /// The same for an entry that is not followed if it is a symlink itself, as one that is removed.
    pub(super) fn check_entry(
        &self,
        dir: &Dir,
        relative: &Path,
        given: &Path,
        purpose: Purpose,
    ) -> Result<(), Error> {
        self.check_real(dir, relative, given, purpose, |dir, relative| {
            let (Some(parent), Some(name)) = (relative.parent(), relative.file_name()) else {
                return real(dir, relative);
            };
            let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
            let parent = real(dir, parent)?;
            Ok(parent.strip_prefix(".").unwrap_or(&parent).join(name))
        })
    }

    fn check_real(
        &self,
        dir: &Dir,
        relative: &Path,
        given: &Path,
        purpose: Purpose,
        real: impl FnOnce(&Dir, &Path) -> io::Result<PathBuf>,
    ) -> Result<(), Error> {
        let operation = purpose.verb();
        let refused = || Error::PathNotAllowed { path: given.display().to_string(), operation };
        if !self.admits(relative, purpose) {
            return Err(refused());
        }
        let real = real(dir, relative).map_err(|source| explain(operation, given, source))?;
        if real == relative || self.admits(&real, purpose) { Ok(()) } else { Err(refused()) }
    }
}

/// The path without symlinks, as far as it exists.
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
                // A symlink that leads nowhere would be written through.
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
