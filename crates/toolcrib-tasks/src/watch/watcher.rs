//! The state of one watcher, and its changes by checks.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcrib_model::text::ellipsize_bytes;
use toolcrib_model::{ErrorKind, Fingerprint, ToolError};

use super::firing::{Firing, FollowUp};
use super::request::{NotifyWhen, WatchRequest};
use super::status::{CheckOutcome, WatcherCheck, WatcherMetrics, WatcherState};
use super::{WatcherSettings, template};
use crate::condition::Condition;
use crate::owner::Owner;
use crate::text::{MAX_NOTIFIED_BYTES, error_text};

/// The maximum size of a watched result in bytes of JSON.
pub(crate) const MAX_WATCHED_BYTES: usize = 1024 * 1024;

/// The maximum size of a result that conditions compare with later ones, in bytes of JSON.
const MAX_COMPARED_BYTES: usize = 8 * 1024;

/// The maximum size of a result in histories in bytes of JSON.
pub const MAX_SHOWN_BYTES: usize = 200;

/// The longest wait between checks after errors.
const MAX_WATCH_BACKOFF: Duration = Duration::from_hours(1);

/// The stored form of a watcher.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Watcher {
    pub(super) owner: Owner,
    pub(super) request: WatchRequest,
    pub(super) state: WatcherState,
    /// The reason why it has paused itself or ended. `None` if its owner has paused it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
    pub(super) created: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ended: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) last_check: Option<Timestamp>,
    /// True while a check is in progress whose call may not be repeated.
    #[serde(default)]
    pub(super) is_under_way: bool,
    /// True while a call of its turn waits for a person.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) waits_for_person: bool,
    /// The last result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) seen: Option<LastResult>,
    /// The result of the last notification, or the first one, which conditions compare with. `None` if it is too large.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) baseline: Option<Value>,
    /// True if the condition held for the last result.
    #[serde(default)]
    pub(super) is_held: bool,
    #[serde(default)]
    pub(super) errors_in_row: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) last_error: Option<String>,
    #[serde(default)]
    pub(super) metrics: Metrics,
    /// The counts for the next summary.
    #[serde(default)]
    pub(super) tally: SummaryCounts,
    /// The notification in progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) firing: Option<Firing>,
}

/// The digest and the excerpt of a result.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct LastResult {
    pub(super) digest: Fingerprint,
    pub(super) shown: Value,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Metrics {
    pub(super) checks: u64,
    pub(super) changes: u64,
    pub(super) errors: u64,
    pub(super) notifications: u64,
    pub(super) last_ms: u64,
    pub(super) total_ms: u64,
    pub(super) max_ms: u64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct SummaryCounts {
    checks: u64,
    changes: u64,
    errors: u64,
    held: u64,
}

/// A check in the history.
#[derive(Clone, Debug)]
pub(super) struct Check {
    pub(super) at: Timestamp,
    pub(super) outcome: CheckOutcome,
    pub(super) shown: Option<Arc<Value>>,
    pub(super) error: Option<Arc<str>>,
    pub(super) took_ms: u64,
    pub(super) fired: bool,
}

/// A check whose call has ended.
pub(super) struct CompletedCheck {
    pub(super) result: Result<Value, ToolError>,
    pub(super) at: Timestamp,
    pub(super) took: Duration,
    /// Its run key.
    pub(super) key: String,
}

/// The history entry of a check, and its urgency.
pub(super) struct RecordedCheck {
    pub(super) check: Check,
    /// True if the watcher must be saved now, so that a crash causes no false or lost notification.
    pub(super) is_eventful: bool,
}

/// A result within the size limits.
struct BoundedResult {
    value: Value,
    json: String,
}

impl Watcher {
    pub(super) fn new(owner: Owner, request: WatchRequest, created: Timestamp) -> Self {
        Self {
            owner,
            request,
            state: WatcherState::Active,
            reason: None,
            created,
            ended: None,
            last_check: None,
            is_under_way: false,
            waits_for_person: false,
            seen: None,
            baseline: None,
            is_held: false,
            errors_in_row: 0,
            last_error: None,
            metrics: Metrics::default(),
            tally: SummaryCounts::default(),
            firing: None,
        }
    }

    /// Returns the state for display.
    pub(super) fn displayed_state(&self) -> WatcherState {
        match self.state {
            WatcherState::Active if self.waits_for_person => WatcherState::WaitingForApproval,
            state => state,
        }
    }

    /// Returns the time from one check to the next, which doubles with each consecutive error.
    pub(super) fn wait(&self) -> Duration {
        let interval = self.request.wait();
        let factor = 2_u32.checked_pow(self.errors_in_row).unwrap_or(u32::MAX);
        interval.saturating_mul(factor).min(MAX_WATCH_BACKOFF.max(interval))
    }

    /// Returns true if the watcher has work to do.
    pub(super) fn has_work(&self) -> bool {
        self.state == WatcherState::Active || self.is_interrupted()
    }

    /// Returns true if a notification or a check is in progress.
    pub(super) fn is_interrupted(&self) -> bool {
        self.firing.is_some() || self.is_under_way
    }

    /// Returns the key of a check, which contains its unique time.
    pub(super) fn run_key(id: &str, at: Timestamp) -> String {
        format!("{id}-{}", at.as_millisecond())
    }

    /// Records the outcome of a check.
    pub(super) fn record_check(
        &mut self,
        id: &str,
        checked: CompletedCheck,
        condition: Option<&Condition>,
        settings: &WatcherSettings,
    ) -> RecordedCheck {
        let CompletedCheck { result, at, took, key } = checked;
        let took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let was_under_way = std::mem::take(&mut self.is_under_way);
        self.metrics.took(took_ms);
        self.tally.checks += 1;
        let (mut is_eventful, was_held) = (was_under_way, self.is_held);
        let (outcome, mut news, value) = match result.and_then(|value| BoundedResult::of(value, condition)) {
            Ok(reading) => {
                let (outcome, news) = self.record_result(&reading, condition);
                is_eventful |= match self.request.notify_when {
                    NotifyWhen::OnChange => outcome != CheckOutcome::Unchanged,
                    _ => outcome == CheckOutcome::First,
                };
                (outcome, news, reading.value)
            }
            Err(error) => {
                let news = self.record_error(&error, settings, at);
                (CheckOutcome::Error, news, json!({"kind": error.kind, "message": error.message}))
            }
        };
        if self.request.notify_when == NotifyWhen::OnThreshold {
            is_eventful |= self.is_held != was_held;
        }
        if self.request.max_checks.is_some_and(|most| self.metrics.checks >= most) {
            self.end(format!("it has made all {} checks", self.metrics.checks), at);
        }
        let is_over = self.state != WatcherState::Active;
        if self.request.notify_when == NotifyWhen::Summary
            && (self.tally.checks >= settings.summary_checks || is_over)
        {
            news = Some(self.summary_text(condition.is_some()));
            self.tally = SummaryCounts::default();
        }
        let fired = news.is_some();
        let parts = [news, self.end_text(is_over)];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        if !parts.is_empty() {
            self.metrics.notifications += 1;
            let text = format!("{} {}", self.title(id), parts.join("; "));
            self.firing = Some(Firing::new(key, text, if fired { self.steps(&value) } else { Vec::new() }));
            is_eventful = true;
        }
        let is_error = outcome == CheckOutcome::Error;
        let check = Check {
            at,
            outcome,
            shown: self.seen.as_ref().filter(|_| !is_error).map(|seen| Arc::new(seen.shown.clone())),
            error: self.last_error.as_deref().filter(|_| is_error).map(Arc::from),
            took_ms,
            fired,
        };
        RecordedCheck { check, is_eventful }
    }

    /// Records a result. Returns the outcome and the text of its notification, if any.
    fn record_result(
        &mut self,
        reading: &BoundedResult,
        condition: Option<&Condition>,
    ) -> (CheckOutcome, Option<String>) {
        (self.errors_in_row, self.last_error) = (0, None);
        let seen = LastResult { digest: Fingerprint::of(&reading.value), shown: reading.shown() };
        let outcome = match &self.seen {
            None => CheckOutcome::First,
            Some(before) if before.digest == seen.digest => CheckOutcome::Unchanged,
            Some(_) => CheckOutcome::Changed,
        };
        if outcome == CheckOutcome::Changed {
            self.metrics.changes += 1;
            self.tally.changes += 1;
        }
        let holds = condition.is_none_or(|condition| condition.holds(&reading.value, self.baseline.as_ref()));
        let was_held = std::mem::replace(&mut self.is_held, holds);
        self.tally.held += u64::from(holds);
        let shown = reading.notification_value();
        let news = match self.request.notify_when {
            NotifyWhen::OnChange if outcome == CheckOutcome::Changed && holds => {
                let before = self.seen.as_ref().map_or(Value::Null, |before| before.shown.clone());
                Some(format!("has seen a change: it was {before}, and is {shown}"))
            }
            NotifyWhen::OnThreshold if holds && !was_held => {
                let condition = condition.map(Condition::text).unwrap_or_default();
                Some(format!("has seen that {condition}: the result is {shown}"))
            }
            NotifyWhen::Always if holds => Some(format!("has seen {shown}")),
            _ => None,
        };
        self.seen = Some(seen);
        if outcome == CheckOutcome::First || news.is_some() {
            self.baseline = reading.baseline();
        }
        (outcome, news)
    }

    /// Records an error, and returns the text of its notification, if any.
    fn record_error(
        &mut self,
        error: &ToolError,
        settings: &WatcherSettings,
        at: Timestamp,
    ) -> Option<String> {
        self.metrics.errors += 1;
        self.tally.errors += 1;
        self.errors_in_row = self.errors_in_row.saturating_add(1);
        let text = error_text(error);
        let is_new = self.last_error.as_deref() != Some(text.as_str());
        self.last_error = Some(text);
        if matches!(error.kind, ErrorKind::Denied | ErrorKind::ApprovalRequired | ErrorKind::ApprovalDenied) {
            self.end("the call may not be made".to_owned(), at);
        } else if self.errors_in_row >= settings.max_errors && self.state == WatcherState::Active {
            self.state = WatcherState::Paused;
            self.reason = Some(format!("{} checks in a row have failed", self.errors_in_row));
        }
        let tells = match self.request.notify_when {
            NotifyWhen::Always => true,
            NotifyWhen::OnError => is_new,
            _ => false,
        };
        tells.then(|| format!("has failed: {}", self.last_error.as_deref().unwrap_or_default()))
    }

    fn end(&mut self, reason: String, at: Timestamp) {
        if self.state != WatcherState::Ended {
            (self.state, self.reason, self.ended) = (WatcherState::Ended, Some(reason), Some(at));
        }
    }

    /// Returns the text about its end or pause.
    fn end_text(&self, is_over: bool) -> Option<String> {
        // A watcher that its owner has paused has no reason.
        let reason = self.reason.as_deref().filter(|_| is_over)?;
        let last = self.last_error.as_deref().map(|error| format!(", the last error being {error}"));
        let last = last.unwrap_or_default();
        Some(match self.state {
            WatcherState::Paused => {
                format!("has paused itself: {reason}{last}; `watch_resume` resumes it")
            }
            _ => format!("has ended: {reason}{last}"),
        })
    }

    fn summary_text(&self, has_condition: bool) -> String {
        let SummaryCounts { checks, changes, errors, held } = &self.tally;
        let held =
            if has_condition { format!(", {held} for which the condition held") } else { String::new() };
        let last = self.seen.as_ref().map(|seen| format!("; the last result is {}", seen.shown));
        format!(
            "has made {checks} checks: {changes} changes, {errors} errors{held}{}",
            last.unwrap_or_default()
        )
    }

    fn steps(&self, value: &Value) -> Vec<FollowUp> {
        let step = |action| FollowUp {
            is_filled: template::check(action) == Ok(true),
            action: template::fill(action, value),
        };
        self.request.actions.iter().map(step).collect()
    }

    /// Returns the beginning of a notification.
    pub(super) fn title(&self, id: &str) -> String {
        match &self.request.label {
            Some(label) => format!("The watcher {id} ({label}: {})", self.request.name),
            None => format!("The watcher {id} ({})", self.request.name),
        }
    }
}

impl Metrics {
    fn took(&mut self, milliseconds: u64) {
        self.checks += 1;
        self.last_ms = milliseconds;
        self.total_ms = self.total_ms.saturating_add(milliseconds);
        self.max_ms = self.max_ms.max(milliseconds);
    }

    pub(super) fn mean_ms(&self) -> u64 {
        self.total_ms.checked_div(self.checks).unwrap_or_default()
    }
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

impl BoundedResult {
    fn of(value: Value, condition: Option<&Condition>) -> Result<Self, ToolError> {
        let json = value.to_string();
        let most =
            if condition.is_some_and(Condition::compares) { MAX_COMPARED_BYTES } else { MAX_WATCHED_BYTES };
        if json.len() > most {
            let why = if most == MAX_COMPARED_BYTES { " where its condition says `changed`" } else { "" };
            let message =
                format!("the result has {} bytes; the limit for watched results is {most}{why}", json.len());
            return Err(ToolError::new(ErrorKind::LimitReached, message)
                .with_hint("watch a tool that returns less, or with arguments by which it does"));
        }
        Ok(Self { value, json })
    }

    fn shown(&self) -> Value {
        self.within(MAX_SHOWN_BYTES)
    }

    fn notification_value(&self) -> String {
        ellipsize_bytes(&self.json, MAX_NOTIFIED_BYTES).into_owned()
    }

    fn baseline(&self) -> Option<Value> {
        (self.json.len() <= MAX_COMPARED_BYTES).then(|| self.value.clone())
    }

    fn within(&self, bytes: usize) -> Value {
        if self.json.len() <= bytes {
            self.value.clone()
        } else {
            Value::String(ellipsize_bytes(&self.json, bytes).into_owned())
        }
    }
}
