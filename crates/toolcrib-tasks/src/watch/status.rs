//! What is told of watchers.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::NotifyWhen;
use super::watcher::{Check, Metrics};

/// How a watcher stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum WatcherState {
    /// It checks.
    Active,
    /// Its call, or one that follows, waits for a person. It is told, and kept as [`Active`](Self::Active).
    WaitingForApproval,
    /// It waits to be resumed.
    Paused,
    /// It checks no more.
    Ended,
}

/// What is told of a watcher.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WatcherStatus {
    /// Its id.
    pub watcher_id: String,
    /// The tool that it calls.
    pub name: String,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// How it stands.
    pub status: WatcherState,
    /// Why it has paused itself or ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Seconds from one check to the next.
    pub interval: u64,
    /// When it tells.
    pub notify_when: NotifyWhen,
    /// What has to hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// After how many checks it ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_checks: Option<u64>,
    /// When it was started.
    #[schemars(with = "String")]
    #[serde(serialize_with = "crate::time::to_second::serialize")]
    pub created: Timestamp,
    /// When it checked last.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    #[serde(serialize_with = "crate::time::to_second::optional::serialize")]
    pub last_check: Option<Timestamp>,
    /// When it checks next, unless it is checking.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    #[serde(serialize_with = "crate::time::to_second::optional::serialize")]
    pub next_check: Option<Timestamp>,
    /// The last result; of a long one, the beginning of its JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_value: Option<Value>,
    /// The error of the last check, where it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// What it has done so far.
    pub metrics: WatcherMetrics,
    /// What else there is to know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// What a watcher has done so far.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WatcherMetrics {
    /// How often it has checked.
    pub checks: u64,
    /// How often the result was another one than before.
    pub changes: u64,
    /// How often the call failed.
    pub errors: u64,
    /// How often it has told something.
    pub notifications: u64,
    /// How long the last check took, in milliseconds.
    pub last_ms: u64,
    /// How long one takes on average.
    pub mean_ms: u64,
    /// How long the longest took.
    pub max_ms: u64,
}

/// What came of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CheckOutcome {
    /// There was no result before.
    First,
    /// The result is the one before.
    Unchanged,
    /// The result is another one.
    Changed,
    /// There is none.
    Error,
}

/// One check of a watcher.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WatcherCheck {
    /// When.
    #[schemars(with = "String")]
    #[serde(serialize_with = "crate::time::to_second::serialize")]
    pub at: Timestamp,
    /// What came of it.
    pub outcome: CheckOutcome,
    /// The result; of a long one, the beginning of its JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// Why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
    /// Whether it was told, and followed up.
    pub fired: bool,
}

impl From<&Metrics> for WatcherMetrics {
    fn from(metrics: &Metrics) -> Self {
        let Metrics { checks, changes, errors, notifications, last_ms, max_ms, .. } = *metrics;
        Self { checks, changes, errors, notifications, last_ms, mean_ms: metrics.mean_ms(), max_ms }
    }
}

impl From<&Check> for WatcherCheck {
    fn from(check: &Check) -> Self {
        Self {
            at: check.at,
            outcome: check.outcome,
            value: check.shown.as_deref().cloned(),
            error: check.error.as_deref().map(str::to_owned),
            took_ms: check.took_ms,
            fired: check.fired,
        }
    }
}

impl WatcherStatus {
    /// Without what may be long, for lists.
    pub(super) fn without_value(mut self) -> Self {
        self.last_value = None;
        self
    }

    /// Adds what else there is to know.
    pub(super) fn with_note(mut self, note: impl Into<String>) -> Self {
        self.note = Some(note.into());
        self
    }
}
