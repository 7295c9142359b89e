//! The spool of an audit log: a bounded file of records that are sent elsewhere.
//!
//! Writers append lines under a lock of the file. A reader sends them in their order, and empties the file under the
//! same lock when it has sent all. If it ends before, the next reader sends lines again, whose ids tell the receiver.

use std::fs::{File, TryLockError};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Deserialize;
use toolcrib_model::random::{hex, random_bytes};

use super::log_file::{is_at, open};

/// The maximum size of a batch, unless one record is larger.
const MAX_BATCH_BYTES: usize = 1024 * 1024;

/// The maximum number of records in a batch.
const MAX_BATCH_RECORDS: usize = 1_000;

/// The ids of the lines that one process writes to a spool. No other process has the same.
pub(super) struct SpoolIds {
    process: String,
    next: AtomicU64,
}

impl SpoolIds {
    pub(super) fn new() -> io::Result<Self> {
        let process = random_bytes::<16>().map_err(io::Error::other)?;
        Ok(Self { process: hex(&process), next: AtomicU64::new(0) })
    }

    /// Returns the beginning of the next line.
    pub(super) fn next(&self) -> String {
        format!("{}-{} ", self.process, self.next.fetch_add(1, Ordering::Relaxed))
    }
}

/// Appends a line to a spool, unless that exceeds its maximum size. The line of a writer that was killed is completed
/// first.
pub(super) fn append(mut file: &File, line: &[u8], max_bytes: u64) -> io::Result<()> {
    file.lock()?;
    let mut append = || {
        let length = file.metadata()?.len();
        if length.saturating_add(line.len() as u64) > max_bytes {
            return Err(io::Error::other(format!(
                "it holds {length} bytes of records that were not sent, and may hold {max_bytes}"
            )));
        }
        if length > 0 {
            let mut last = [0];
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut last)?;
            if last != *b"\n" {
                file.write_all(b"\n")?;
            }
        }
        file.write_all(line)
    };
    let appended = append();
    file.unlock()?;
    appended
}

/// A record in a spool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpooledRecord {
    /// The id, which no other record has.
    pub id: String,
    /// The start of the call, as in the record.
    pub time: String,
    /// The [`Record`](super::Record) as JSON.
    pub json: String,
}

/// The one reader of a spool, whose writers may be several processes.
pub struct SpoolReader {
    path: PathBuf,
    file: File,
    /// The number of bytes whose records were sent.
    sent: u64,
    /// The number of bytes of the last batch.
    batch: u64,
    /// Held until the reader is dropped.
    _lock: File,
}

impl SpoolReader {
    /// Opens a spool to send its records. Returns `None` while another process does that.
    ///
    /// # Errors
    ///
    /// Returns an error if the file, or the file of its lock, cannot be opened.
    pub fn open(path: &Path) -> io::Result<Option<Self>> {
        let mut lock_path = path.as_os_str().to_owned();
        lock_path.push(".lock");
        let lock = open(Path::new(&lock_path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        Ok(Some(Self { path: path.to_owned(), file: open(path)?, sent: 0, batch: 0, _lock: lock }))
    }

    /// Returns the next records, the oldest first; none if all were sent. A line that is damaged is left out, and logged.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read.
    pub fn next_batch(&mut self) -> io::Result<Vec<SpooledRecord>> {
        let mut records = Vec::new();
        self.batch = 0;
        if !is_at(&self.path, &self.file) {
            (self.file, self.sent) = (open(&self.path)?, 0);
        }
        if self.file.metadata()?.len() < self.sent {
            // A user has emptied it.
            self.sent = 0;
        }
        self.file.seek(SeekFrom::Start(self.sent))?;
        let mut reader = BufReader::new(&self.file);
        let mut line = Vec::new();
        while records.len() < MAX_BATCH_RECORDS && self.batch < MAX_BATCH_BYTES as u64 {
            line.clear();
            // The file is bounded, and so are its lines.
            let length = reader.read_until(b'\n', &mut line)?;
            if line.last() != Some(&b'\n') {
                // A writer is about to complete it.
                break;
            }
            self.batch += length as u64;
            match parse(&line) {
                Some(record) => records.push(record),
                None if line == b"\n" => {}
                None => {
                    tracing::error!(path = %self.path.display(), "an audit record is damaged, and not sent");
                }
            }
        }
        if records.is_empty() && self.batch > 0 {
            self.finish_batch()?;
            return self.next_batch();
        }
        Ok(records)
    }

    /// Notes that the records of the last batch were sent. Empties the file if there are no others.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be written to. A later batch empties it then.
    pub fn finish_batch(&mut self) -> io::Result<()> {
        self.sent += std::mem::take(&mut self.batch);
        self.file.lock()?;
        let emptied = match self.file.metadata() {
            Ok(metadata) if metadata.len() == self.sent => self.file.set_len(0).map(|()| self.sent = 0),
            Ok(_) => Ok(()),
            Err(error) => Err(error),
        };
        self.file.unlock()?;
        emptied
    }
}

/// Parses a line of a spool.
fn parse(line: &[u8]) -> Option<SpooledRecord> {
    let (id, json) = std::str::from_utf8(line).ok()?.trim_end().split_once(' ')?;
    // Other fields are skipped, whose depth has no limit.
    let RecordTime { time } = serde_json::from_str(json).ok()?;
    Some(SpooledRecord { id: id.to_owned(), time, json: json.to_owned() })
}

#[derive(Deserialize)]
struct RecordTime {
    time: String,
}
