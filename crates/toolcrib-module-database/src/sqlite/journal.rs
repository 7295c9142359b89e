//! The check of rollback journals, some of which must not reach SQLite.
//!
//! A connection that may write rolls back a hot journal of its database. A journal can name a second file, the
//! super-journal of a transaction over several databases, and SQLite deletes that file afterwards, wherever it is.
//! Transactions of this module never span several databases, so another program made such a journal.

use std::path::{Path, PathBuf};

use toolcrib_io::Error;
use toolcrib_io::files::{ProtectedFiles, ProtectionGuard, Root};
use toolcrib_model::{ErrorKind, ToolError};

use crate::errors::failed;

/// The magic bytes that begin every journal, and end one that names a super-journal.
const MAGIC: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];

/// The suffix that SQLite appends to the name of a database for its journal.
const SUFFIX: &str = "-journal";

/// The journal of a database.
pub(super) struct Journal {
    folder: Root,
    name: PathBuf,
    /// The path for messages.
    shown: String,
    /// Prevents tools from creating a journal between its check and its use.
    _guard: ProtectionGuard,
}

impl Journal {
    /// Returns the journal of the database at this absolute path. From now on, no tool writes it.
    pub(super) fn of(database: &Path, given: &str, protected: &ProtectedFiles) -> Result<Self, ToolError> {
        let cannot = |error: Error| failed(format!("cannot look for the journal of `{given}`: {error}"));
        let (Some(folder), Some(name)) = (database.parent(), database.file_name()) else {
            return Err(failed(format!("`{given}` is not a file")));
        };
        let mut name = name.to_owned();
        name.push(SUFFIX);
        let guard = protected.protect_while([folder.join(&name)]).ok_or_else(|| {
            ToolError::new(ErrorKind::LimitReached, "too many files are in use to open another database")
                .with_hint("close connections by `database.disconnect`")
        })?;
        let folder = Root::open(folder).map_err(cannot)?;
        Ok(Self { folder, name: name.into(), shown: format!("`{given}{SUFFIX}`"), _guard: guard })
    }

    /// Refuses a journal that names a super-journal, or cannot be read. It reads the disk.
    pub(super) fn check(&self) -> Result<(), ToolError> {
        let cannot = |error: Error| failed(format!("cannot read the journal {}: {error}", self.shown));
        let bytes = match self.folder.metadata(&self.name) {
            Ok(found) => found.bytes,
            Err(Error::NotFound { .. }) => return Ok(()),
            Err(error) => return Err(cannot(error)),
        };
        let tail = bytes.saturating_sub(MAGIC.len() as u64);
        match self.folder.read(&self.name, tail, MAGIC.len()) {
            Ok(end) if end.bytes == MAGIC => Err(ToolError::new(
                ErrorKind::Denied,
                format!(
                    "{} belongs to a transaction over several files, which is not finished here",
                    self.shown
                ),
            )
            .with_hint(
                "ask the user: the program that wrote it can finish it, or the journal can be removed",
            )),
            Ok(_) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(cannot(error)),
        }
    }
}
