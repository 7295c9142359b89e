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
