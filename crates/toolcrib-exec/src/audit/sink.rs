//! Destinations of audit records.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;

use super::Record;

/// A destination of audit records. It is called at the end of a call, so it should return quickly, and it has to handle
/// its own failures.
pub trait AuditSink: Send + Sync {
    /// Writes a record.
    fn record(&self, record: &Record);

    /// Returns an error if no call may run, with the reason. It is called before each call, for sinks without which no
    /// call may run.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }

    /// Returns true if each call needs a record that it is [about to run](super::Outcome::Begun) before it runs.
    fn is_required(&self) -> bool {
        false
    }

    /// Writes the record of a call that is about to run; an error prevents the call.
    fn begin(&self, record: &Record) -> Result<(), String> {
        let _ = record;
        self.check()
    }

    /// Returns the reason why records are missing, if some could not be written since the last one that was.
    fn problem(&self) -> Option<String> {
        None
    }
}

/// A sink with an observer that receives the same records.
pub(super) struct ObservedSink {
    pub(super) sink: Arc<dyn AuditSink>,
    pub(super) observer: Arc<dyn AuditSink>,
}

impl AuditSink for ObservedSink {
    fn record(&self, record: &Record) {
        self.sink.record(record);
        self.observer.record(record);
    }

    fn check(&self) -> Result<(), String> {
        self.sink.check()
    }

    fn is_required(&self) -> bool {
        self.sink.is_required()
    }

    fn begin(&self, record: &Record) -> Result<(), String> {
        self.sink.begin(record)
    }

    fn problem(&self) -> Option<String> {
        self.sink.problem()
    }
}

/// The maximum number of records in a [`MemorySink`].
const MAX_MEMORY_RECORDS: usize = 10_000;

/// A sink that keeps the last 10,000 records in memory, for tests.
#[derive(Debug, Default)]
pub struct MemorySink {
    records: Mutex<VecDeque<Record>>,
}

impl MemorySink {
    /// Creates an empty sink.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the records, the oldest first.
    pub fn records(&self) -> Vec<Record> {
        self.records.lock().iter().cloned().collect()
    }
}

impl AuditSink for MemorySink {
    fn record(&self, record: &Record) {
        let mut records = self.records.lock();
        if records.len() == MAX_MEMORY_RECORDS {
            records.pop_front();
        }
        records.push_back(record.clone());
    }
}
