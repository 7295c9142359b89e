//! Conversion of the errors of SQLite and the system.

use std::io;
use std::path::Path;

use crate::store::StoreError;

/// The primary result codes of SQLite (<https://sqlite.org/rescode.html>), which are the lower bytes of extended codes.
mod code {
    pub(super) const BUSY: u32 = 5;
    pub(super) const LOCKED: u32 = 6;
    pub(super) const READONLY: u32 = 8;
    pub(super) const CORRUPT: u32 = 11;
    pub(super) const FULL: u32 = 13;
    pub(super) const CANTOPEN: u32 = 14;
    pub(super) const NOTADB: u32 = 26;
    pub(super) const PRIMARY: u32 = 0xff;
}

/// A converter of errors that concern one file.
pub(super) struct ErrorContext<'a> {
    pub(super) path: &'a Path,
}

impl ErrorContext<'_> {
    pub(super) fn convert(&self, error: &sqlx::Error) -> StoreError {
        let path = self.path.to_owned();
        let Some(database) = error.as_database_error() else {
            return match error {
                sqlx::Error::Io(error) => self.convert_io(error),
                other => StoreError::Failed { path, reason: other.to_string() },
            };
        };
        let reason = database.message().to_owned();
        let number = database.code().and_then(|code| code.parse::<u32>().ok());
        match number.map(|number| number & code::PRIMARY) {
            Some(code::BUSY | code::LOCKED) => StoreError::Locked { path },
            Some(code::READONLY | code::CANTOPEN) => StoreError::ReadOnly { path, reason },
            Some(code::CORRUPT | code::NOTADB) => StoreError::Damaged { path, reason },
            Some(code::FULL) => StoreError::Full { path },
            _ => StoreError::Failed { path, reason },
        }
    }

    pub(super) fn convert_io(&self, error: &io::Error) -> StoreError {
        let path = self.path.to_owned();
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::Full { path },
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                StoreError::ReadOnly { path, reason: error.to_string() }
            }
            _ => StoreError::Failed { path, reason: error.to_string() },
        }
    }
}
