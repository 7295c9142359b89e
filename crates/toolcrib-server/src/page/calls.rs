//! The latest calls, with their tools and outcomes.

use std::collections::VecDeque;

use parking_lot::Mutex;
use toolcrib_exec::audit::{AuditSink, Record};
use toolcrib_policy::{Consent, Effect};

/// The maximum number of remembered calls.
const MAX_LAST_CALLS: usize = 200;

/// The latest calls, without their arguments and results.
#[derive(Default)]
pub(super) struct LastCalls(Mutex<VecDeque<LastCall>>);

/// A call that has ended.
#[derive(Clone, Debug)]
pub(super) struct LastCall {
    /// The time in RFC 3339 format, in UTC.
    pub(super) time: String,
    pub(super) session: String,
    pub(super) agent: Option<String>,
    /// The tool, or the requested name if there is no such tool.
    pub(super) tool: String,
    pub(super) decision: &'static str,
    pub(super) rule: Option<String>,
    pub(super) outcome: &'static str,
    pub(super) total_ms: f64,
    pub(super) waited_ms: Option<f64>,
}

impl LastCalls {
    /// Returns the calls, the latest first.
    pub(super) fn latest(&self) -> Vec<LastCall> {
        self.0.lock().iter().rev().cloned().collect()
    }
}

impl AuditSink for LastCalls {
    fn record(&self, record: &Record) {
        let name = record.tool.as_deref().or(record.called.as_deref()).unwrap_or_default();
        let call = LastCall {
            time: record.time.clone(),
            session: record.session.clone(),
            agent: record.agent.clone(),
            tool: name.replacen("::", ".", 1),
            decision: decision(record),
            rule: record.rule.clone(),
            outcome: record.outcome.as_str(),
            total_ms: record.total_ms,
            waited_ms: record.waited_ms,
        };
        let mut calls = self.0.lock();
        if calls.len() == MAX_LAST_CALLS {
            calls.pop_front();
        }
        calls.push_back(call);
    }
}

/// Describes the approval of a call, or the reason why it did not run.
fn decision(record: &Record) -> &'static str {
    match (record.consent, record.decision) {
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
