//! Records as lines of a file.

use std::fmt;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{AuditSink, Record};

/// How large the file grows when nothing is said about it: 64 MiB.
pub const DEFAULT_MAX_AUDIT_BYTES: u64 = 64 * 1024 * 1024;

/// The least that it may be allowed to grow to: several of the longest records.
pub const MIN_AUDIT_BYTES: u64 = 1024 * 1024;

/// Writes each record as a line of JSON to a file that only its owner may read.
///
/// Each line is one write at the end of the file, so that lines of several processes do not mix. A file that has grown to
/// its bound is renamed to the same name with `.1`, in place of the one before it, and a new one is begun: there are two
/// files at most, and twice the bytes. Where somebody else renamed or removed the file, a new one is begun too. The disk
/// is not waited for: what was written just before the machine lost its power may be lost.
///
/// When a line cannot be written, as on a full disk, that is logged once and calls go on without records, whose number is
/// logged when writing works again. With [`JsonLines::required`] each call has a line before it runs, and does not run
/// where that cannot be written.
pub struct JsonLines {
    path: PathBuf,
    max_bytes: u64,
    is_required: bool,
    state: Mutex<State>,
}

struct State {
    file: File,
    /// Why the last line was not written.
    failure: Option<String>,
    /// How many lines were not written since one was.
    lost: u64,
    /// The part of a line that the file ends with is nobody's.
    is_torn: bool,
}

impl JsonLines {
    /// Opens the file, or makes it, in a folder that is there.
    pub fn open(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        let file = open(&path)?;
        // What a process that was ended left behind.
        let is_torn = !ends_with_line(&path, &file);
        let state = State { file, failure: None, lost: 0, is_torn };
        Ok(Self { path, max_bytes: DEFAULT_MAX_AUDIT_BYTES, is_required: false, state: Mutex::new(state) })
    }

    /// Sets how large the file may grow; [`DEFAULT_MAX_AUDIT_BYTES`], at least [`MIN_AUDIT_BYTES`].
    pub fn with_max_bytes(mut self, max_bytes: u64) -> Self {
        self.max_bytes = max_bytes.max(MIN_AUDIT_BYTES);
        self
    }

    /// Says that no call runs of which there is no record: a line with the outcome `begun` is written before it does.
    pub fn required(mut self) -> Self {
        self.is_required = true;
        self
    }

    /// How many records could not be written since one was.
    pub fn lost(&self) -> u64 {
        self.lock().lost
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_record(&self, record: &Record) -> Option<MutexGuard<'_, State>> {
        let mut line = serde_json::to_vec(record).ok()?;
        line.push(b'\n');
        let mut state = self.lock();
        self.write(&mut state, &line);
        Some(state)
    }

    fn unwritable(&self, why: &str) -> String {
        format!("{} cannot be written: {why}", self.path.display())
    }

    fn write(&self, state: &mut State, line: &[u8]) {
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

    fn append(&self, state: &mut State, line: &[u8]) -> io::Result<()> {
        if !is_at(&self.path, &state.file) {
            (state.file, state.is_torn) = (open(&self.path)?, false);
        }
        let written = state.file.metadata()?.len();
        if written > 0 && written.saturating_add(line.len() as u64) > self.max_bytes {
            self.rotate(state)?;
        }
        // A part of a line may be there when this fails, and the next one begins on a line of its own.
        let torn = std::mem::replace(&mut state.is_torn, true);
        if torn {
            state.file.write_all(b"\n")?;
        }
        state.file.write_all(line)?;
        state.is_torn = false;
        Ok(())
    }

    /// Begins a new file. Of several processes one does it; the others find that the path leads to another file.
    fn rotate(&self, state: &mut State) -> io::Result<()> {
        // Released when the file is closed, or here.
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
        let mut state = self.lock();
        if state.failure.is_some() {
            // An empty line, which readers of JSON lines pass over: it shows whether there is room again.
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
            return Err(self.unwritable("the record is no JSON"));
        };
        state.failure.as_deref().map_or(Ok(()), |why| Err(self.unwritable(why)))
    }

    fn problem(&self) -> Option<String> {
        let state = self.lock();
        let why = state.failure.as_deref().filter(|_| state.lost > 0)?;
        Some(format!("{}; {} of its records are missing", self.unwritable(why), state.lost))
    }
}

impl fmt::Debug for JsonLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JsonLines").field("path", &self.path).finish_non_exhaustive()
    }
}

fn open(path: &Path) -> io::Result<File> {
    // A pipe would keep us waiting for its reader.
    if std::fs::metadata(path).is_ok_and(|there| !there.is_file()) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"));
    }
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Whether a file is empty or its last line is whole. One that may be written and not read is taken to be.
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

/// Whether the path leads to this file still.
fn is_at(path: &Path, file: &File) -> bool {
    match (std::fs::metadata(path), file.metadata()) {
        (Ok(there), Ok(ours)) => is_same(&there, &ours),
        _ => false,
    }
}

#[cfg(unix)]
fn is_same(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(not(unix))]
fn is_same(_one: &Metadata, _other: &Metadata) -> bool {
    true
}
