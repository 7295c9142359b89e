//! An audit sink that writes records as lines of a file.

use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use parking_lot::{Mutex, MutexGuard};

use super::log_file::{is_at, open};
use super::spool::{self, SpoolIds};
use super::{AuditSink, Record};

/// The default maximum size of the file: 64 MiB.
pub const DEFAULT_MAX_AUDIT_BYTES: u64 = 64 * 1024 * 1024;

/// The least maximum size: several of the longest records.
pub const MIN_AUDIT_BYTES: u64 = 1024 * 1024;

/// Writes each record as a line of JSON to a file that only its owner may read.
///
/// Each line is one write at the end of the file, so that lines of several processes do not mix. A file that has
/// reached its maximum size is renamed to the same name with `.1`, replacing the one before it, and a new file is
/// created: there are at most two files, and twice the bytes. If another process has renamed or removed the file, a new
/// one is created too. Lines are not synced to the disk: those written just before a loss of power may be lost.
///
/// If a line cannot be written, as on a full disk, that is logged once and calls continue without records, whose number
/// is logged when writing works again. With [`JsonLines::required`] each call has a line before it runs, and does not
/// run if that line cannot be written.
///
/// As a [spool](JsonLines::spool), the file holds the records that a [`SpoolReader`](super::SpoolReader) sends
/// elsewhere. Each line begins with an id, and a spool that has reached its maximum size cannot be written to.
pub struct JsonLines {
    path: PathBuf,
    max_bytes: u64,
    is_required: bool,
    /// The ids of the lines of a spool.
    spool: Option<SpoolIds>,
    state: Mutex<FileState>,
}

struct FileState {
    file: File,
    /// The error of the last write, if it failed.
    failure: Option<String>,
    /// The number of lines that were not written since the last successful write.
    lost: u64,
    /// True if the file ends with an incomplete line.
    is_torn: bool,
}

impl JsonLines {
    /// Opens or creates the file in an existing folder.
    pub fn open(path: impl Into<PathBuf>) -> io::Result<Self> {
        Self::open_with(path.into(), None)
    }

    /// Opens or creates a spool in an existing folder.
    pub fn spool(path: impl Into<PathBuf>) -> io::Result<Self> {
        Self::open_with(path.into(), Some(SpoolIds::new()?))
    }

    fn open_with(path: PathBuf, spool: Option<SpoolIds>) -> io::Result<Self> {
        let file = open(&path)?;
        // A process that was killed may have left an incomplete line.
        let is_torn = !ends_with_line(&path, &file);
        let state = FileState { file, failure: None, lost: 0, is_torn };
        let state = Mutex::new(state);
        Ok(Self { path, max_bytes: DEFAULT_MAX_AUDIT_BYTES, is_required: false, spool, state })
    }

    /// Sets the maximum size of the file; [`DEFAULT_MAX_AUDIT_BYTES`] by default, at least [`MIN_AUDIT_BYTES`].
    pub fn with_max_bytes(mut self, max_bytes: u64) -> Self {
        self.max_bytes = max_bytes.max(MIN_AUDIT_BYTES);
        self
    }

    /// Requires a record of every call: a line with the outcome `begun` is written before the call runs.
    pub fn required(mut self) -> Self {
        self.is_required = true;
        self
    }

    /// Returns the number of records that could not be written since the last one that was.
    pub fn lost(&self) -> u64 {
        self.state.lock().lost
    }

    fn write_record(&self, record: &Record) -> Option<MutexGuard<'_, FileState>> {
        let mut line = self.spool.as_ref().map(SpoolIds::next).unwrap_or_default().into_bytes();
        serde_json::to_writer(&mut line, record).ok()?;
        line.push(b'\n');
        let mut state = self.state.lock();
        self.write(&mut state, &line);
        Some(state)
    }

    fn unwritable(&self, why: &str) -> String {
        format!("{} cannot be written: {why}", self.path.display())
    }

    fn write(&self, state: &mut FileState, line: &[u8]) {
        match self.append(state, line) {
            Ok(()) => {
                if state.lost > 0 {
                    tracing::warn!(path = %self.path.display(), lost = state.lost, "audit records are written again");
                }
                (state.failure, state.lost) = (None, 0);
            }
            Err(error) => {
                if state.failure.is_none() {
                    tracing::error!(path = %self.path.display(), %error, "audit records cannot be written");
                }
                state.failure = Some(error.to_string());
                state.lost += u64::from(line != b"\n");
            }
        }
    }

    fn append(&self, state: &mut FileState, line: &[u8]) -> io::Result<()> {
        if !is_at(&self.path, &state.file) {
            (state.file, state.is_torn) = (open(&self.path)?, false);
        }
        if self.spool.is_some() {
            return spool::append(&state.file, line, self.max_bytes);
        }
        let written = state.file.metadata()?.len();
        if written > 0 && written.saturating_add(line.len() as u64) > self.max_bytes {
            self.rotate(state)?;
        }
        // If the write fails, part of a line may be in the file, and the next record begins on a new line.
        let torn = std::mem::replace(&mut state.is_torn, true);
        if torn {
            state.file.write_all(b"\n")?;
        }
        state.file.write_all(line)?;
        state.is_torn = false;
        Ok(())
    }

    /// Begins a new file. Of several processes one does it; the others notice that the path leads to another file.
    fn rotate(&self, state: &mut FileState) -> io::Result<()> {
        // The lock is released below, or when the file is closed.
        state.file.lock()?;
        let moved = if is_at(&self.path, &state.file) {
            let mut older = self.path.clone().into_os_string();
            older.push(".1");
            std::fs::rename(&self.path, older)
        } else {
            Ok(())
        };
        state.file.unlock()?;
        moved?;
        (state.file, state.is_torn) = (open(&self.path)?, false);
        Ok(())
    }
}

impl AuditSink for JsonLines {
    fn record(&self, record: &Record) {
        self.write_record(record);
    }

    fn check(&self) -> Result<(), String> {
        if !self.is_required {
            return Ok(());
        }
        let mut state = self.state.lock();
        if state.failure.is_some() {
            // An empty line, which readers of JSON lines skip, shows if writing works again.
            self.write(&mut state, b"\n");
        }
        match &state.failure {
            None => Ok(()),
            Some(why) => Err(self.unwritable(why)),
        }
    }

    fn is_required(&self) -> bool {
        self.is_required
    }

    fn begin(&self, record: &Record) -> Result<(), String> {
        let Some(state) = self.write_record(record) else {
            return Err(self.unwritable("the record cannot be written as JSON"));
        };
        state.failure.as_deref().map_or(Ok(()), |why| Err(self.unwritable(why)))
    }

    fn problem(&self) -> Option<String> {
        let state = self.state.lock();
        let why = state.failure.as_deref().filter(|_| state.lost > 0)?;
        Some(format!("{}; {} of its records are missing", self.unwritable(why), state.lost))
    }
}

impl fmt::Debug for JsonLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JsonLines").field("path", &self.path).finish_non_exhaustive()
    }
}

/// Returns true if a file is empty or its last line is complete, or if the file cannot be read.
fn ends_with_line(path: &Path, file: &File) -> bool {
    use std::io::{Read, Seek, SeekFrom};
    let last = || -> io::Result<bool> {
        if file.metadata()?.len() == 0 {
            return Ok(true);
        }
        let mut reader = File::open(path)?;
        reader.seek(SeekFrom::End(-1))?;
        let mut byte = [0];
        reader.read_exact(&mut byte)?;
        Ok(byte == *b"\n")
    };
    last().unwrap_or(true)
}
