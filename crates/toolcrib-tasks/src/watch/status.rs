//! The status of watchers, for people and models.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::request::NotifyWhen;

/// The state of a watcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum WatcherState {
    /// The watcher is active.
    Active,
    /// A call of the watcher waits for a person. It is displayed, and stored as [`Active`](Self::Active).
    WaitingForApproval,
    /// The watcher is paused.
    Paused,
    /// The watcher has ended.
    Ended,
}

/// The status of a watcher.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WatcherStatus {
    /// Its id.
    pub watcher_id: String,
    /// The tool that it calls.
    pub name: String,
    /// Its label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Its state.
    pub status: WatcherState,
    /// The reason why it has paused itself or ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Seconds from one check to the next.
    pub interval: u64,
    /// The event to notify about.
    pub notify_when: NotifyWhen,
    /// The condition for notifications.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// The number of checks after which it ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_checks: Option<u64>,
    /// The time of its start.
    #[schemars(with = "String")]
    #[serde(serialize_with = "crate::time::to_second::serialize")]
    pub created: Timestamp,
    /// The time of its last check.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    #[serde(serialize_with = "crate::time::to_second::optional::serialize")]
    pub last_check: Option<Timestamp>,
    /// The time of its next check, unless it is checking.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    #[serde(serialize_with = "crate::time::to_second::optional::serialize")]
    pub next_check: Option<Timestamp>,
    /// The last result; of a long one, the beginning of its JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_value: Option<Value>,
    /// The error of the last check, if it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// Its metrics.
    pub metrics: WatcherMetrics,
    /// A note for the caller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// The metrics of a watcher.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WatcherMetrics {
    /// The number of checks.
    pub checks: u64,
    /// The number of changed results.
    pub changes: u64,
    /// The number of failed calls.
    pub errors: u64,
    /// The number of notifications.
    pub notifications: u64,
    /// The duration of the last check in milliseconds.
    pub last_ms: u64,
    /// The average duration in milliseconds.
    pub mean_ms: u64,
    /// The longest duration in milliseconds.
    pub max_ms: u64,
}

/// The outcome of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CheckOutcome {
    /// The first result.
    First,
    /// The result equals the previous one.
    Unchanged,
    /// The result differs from the previous one.
    Changed,
    /// The call failed.
    Error,
}

/// One check of a watcher.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WatcherCheck {
    /// The time of the check.
    #[schemars(with = "String")]
    #[serde(serialize_with = "crate::time::to_second::serialize")]
    pub at: Timestamp,
    /// Its outcome.
    pub outcome: CheckOutcome,
    /// The result; of a long one, the beginning of its JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// The error, if the call failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The duration in milliseconds.
    pub took_ms: u64,
    /// True if it caused a notification.
    pub fired: bool,
}

impl WatcherStatus {
    /// Removes the last result, which may be long, for lists.
    pub(super) fn without_value(mut self) -> Self {
        self.last_value = None;
        self
    }

    /// Sets the note.
    pub(super) fn with_note(mut self, note: impl Into<String>) -> Self {
        self.note = Some(note.into());
        self
    }
}
