//! The latest calls, from their audit records.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::watch;
use toolcrib_exec::audit::{AuditSink, Outcome, Record};
use toolcrib_model::ErrorKind;
use toolcrib_policy::{Consent, Effect};

use super::Viewer;

/// The maximum number of remembered calls.
const MAX_CALLS: usize = 10_000;

/// The maximum size of all remembered records as JSON, in bytes.
const MAX_BYTES: usize = 32 * 1024 * 1024;

/// The latest calls of this process. The oldest one is dropped when a maximum is reached.
pub(crate) struct CallHistory {
    started: Instant,
    calls: Mutex<RecordedCalls>,
    /// The number of calls that have ended.
    ended: watch::Sender<u64>,
}

#[derive(Default)]
struct RecordedCalls {
    calls: VecDeque<Arc<PastCall>>,
    bytes: usize,
}

/// A call that has ended.
pub(crate) struct PastCall {
    /// The number of the call in this process, from 1.
    pub(super) number: u64,
    pub(super) ended: Instant,
    pub(super) record: Record,
    bytes: usize,
}

/// The outcomes that the console distinguishes by color.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OutcomeClass {
    Ok,
    /// The policy or a person denied the call, or no person approved it.
    Denied,
    Failed,
}

impl OutcomeClass {
    pub(super) const ALL: [Self; 3] = [Self::Ok, Self::Denied, Self::Failed];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Denied => "denied",
            Self::Failed => "failed",
        }
    }
}

impl Default for CallHistory {
    fn default() -> Self {
        Self { started: Instant::now(), calls: Mutex::default(), ended: watch::Sender::new(0) }
    }
}

impl CallHistory {
    /// Returns the calls, the latest first.
    pub(crate) fn latest(&self) -> Vec<Arc<PastCall>> {
        self.calls.lock().calls.iter().rev().cloned().collect()
    }

    /// Returns the call with this number, if it is remembered.
    pub(crate) fn get(&self, number: u64) -> Option<Arc<PastCall>> {
        let recorded = self.calls.lock();
        let position = recorded.calls.binary_search_by_key(&number, |call| call.number).ok()?;
        recorded.calls.get(position).cloned()
    }

    /// Returns the number of the latest call that a viewer may see, or 0.
    pub(crate) fn last_visible(&self, viewer: &Viewer) -> u64 {
        let recorded = self.calls.lock();
        let last = recorded.calls.iter().rev().find(|call| viewer.may_see(call.session()));
        last.map_or(0, |call| call.number)
    }

    /// Returns the time since the start of the process.
    pub(super) fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    /// Returns a receiver that is notified when a call has ended.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.ended.subscribe()
    }
}

impl AuditSink for CallHistory {
    fn record(&self, record: &Record) {
        // The console shows the size of a result, not the result.
        let mut record = record.clone();
        (record.result, record.error) = (None, None);
        let bytes = serde_json::to_vec(&record).map_or(0, |json| json.len());
        let mut recorded = self.calls.lock();
        self.ended.send_modify(|ended| *ended += 1);
        let number = *self.ended.borrow();
        recorded.calls.push_back(Arc::new(PastCall { number, ended: Instant::now(), record, bytes }));
        recorded.bytes += bytes;
        while recorded.calls.len() > MAX_CALLS || recorded.bytes > MAX_BYTES {
            let Some(oldest) = recorded.calls.pop_front() else { return };
            recorded.bytes -= oldest.bytes;
        }
    }
}

impl PastCall {
    /// Returns the session of the call.
    pub(crate) fn session(&self) -> &str {
        &self.record.session
    }

    /// Returns the agent that made the call, if one did.
    pub(crate) fn agent(&self) -> Option<&str> {
        self.record.agent.as_deref()
    }

    /// Returns the user on whose behalf the call was made, if known.
    pub(crate) fn user(&self) -> Option<&str> {
        self.record.user.as_deref()
    }

    /// Returns the tool, or the requested name if there is no such tool.
    pub(crate) fn tool(&self) -> String {
        let name = self.record.tool.as_deref().or(self.record.called.as_deref());
        name.unwrap_or_default().replacen("::", ".", 1)
    }

    pub(super) fn class(&self) -> OutcomeClass {
        match self.record.outcome {
            Outcome::Ok => OutcomeClass::Ok,
            Outcome::Failed(ErrorKind::Denied | ErrorKind::ApprovalDenied | ErrorKind::ApprovalRequired) => {
                OutcomeClass::Denied
            }
            Outcome::Failed(_) | Outcome::Begun | Outcome::Dropped => OutcomeClass::Failed,
        }
    }

    /// Describes the approval of the call, or the reason why it did not run.
    pub(super) fn decision(&self) -> &'static str {
        match (self.record.consent, self.record.decision) {
            (Some(Consent::Granted), _) => "granted",
            (Some(Consent::Approved), _) => "approved",
            (Some(Consent::Edited), _) => "approved, edited",
            (Some(Consent::Remembered), _) => "approved before",
            (None, Some(Effect::Deny)) => "denied",
            (None, Some(Effect::Approve)) => "not approved",
            (None, Some(Effect::Grant)) => "granted, did not run",
            (None, None) => "not decided",
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolcrib_exec::audit::{Audit, MemorySink};
    use toolcrib_model::{JsonObject, ToolCall, ToolResult};
    use toolcrib_port::CallContext;

    use super::*;

    fn record() -> Record {
        let sink = Arc::new(MemorySink::new());
        let call = ToolCall::new("a.b", JsonObject::new());
        let recorder = Audit::new(Arc::clone(&sink) as _).begin(&call, &CallContext::new("s"));
        recorder.finish(&ToolResult::ok(None, "a.b", json!(1)));
        sink.records().remove(0)
    }

    #[test]
    fn the_oldest_calls_are_dropped_by_number_and_by_size() {
        let (history, record) = (CallHistory::default(), record());
        for _ in 0..=MAX_CALLS {
            history.record(&record);
        }
        assert_eq!(history.latest().len(), MAX_CALLS);
        assert!(history.get(1).is_none());
        assert_eq!(history.get(MAX_CALLS as u64 + 1).unwrap().number, MAX_CALLS as u64 + 1);

        let mut large = record;
        large.arguments = Some(json!("x".repeat(MAX_BYTES / 2)));
        history.record(&large);
        history.record(&large);
        let latest = history.latest();
        assert_eq!(latest.len(), 1);
        assert_eq!(history.calls.lock().bytes, latest[0].bytes);
    }
}
