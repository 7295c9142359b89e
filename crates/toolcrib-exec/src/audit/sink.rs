//! Where records go.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use super::Record;

/// Takes records. It is called where a call ends, so it should not take long; what fails in it is its own to deal with.
pub trait AuditSink: Send + Sync {
    /// Takes a record.
    fn record(&self, record: &Record);

    /// Whether calls may run, else why not. It is asked before each call. For sinks without which nothing should run.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }

    /// Returns whether nothing should run before this sink has taken a record that it is [about to](super::Outcome::Begun).
    fn is_required(&self) -> bool {
        false
    }

    /// Takes the record of a call that is about to run; an error keeps it from running.
    fn begin(&self, record: &Record) -> Result<(), String> {
        let _ = record;
        self.check()
    }

    /// Returns why records are missing, if some could not be written since the last one that was.
    fn problem(&self) -> Option<String> {
        None
    }
}

/// A sink, and who is shown what it takes.
pub(super) struct Observed {
    pub(super) sink: Arc<dyn AuditSink>,
    pub(super) observer: Arc<dyn AuditSink>,
}

impl AuditSink for Observed {
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

/// How many records [`Kept`] keeps.
const MAX_KEPT: usize = 10_000;

/// Keeps the last 10,000 records in memory, for tests.
#[derive(Debug, Default)]
pub struct Kept {
    records: Mutex<VecDeque<Record>>,
}

impl Kept {
    /// Keeps none yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The records, the oldest first.
    pub fn records(&self) -> Vec<Record> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

impl AuditSink for Kept {
    fn record(&self, record: &Record) {
        let mut records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        if records.len() == MAX_KEPT {
            records.pop_front();
        }
        records.push_back(record.clone());
    }
}
