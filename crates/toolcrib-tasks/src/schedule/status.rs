//! The status of schedules, for people and models.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use toolcrib_model::text::ellipsize_chars;

use super::record::{LastRun, Overlap, Schedule, ScheduleState};
use super::time::{ScheduleTime, format_moment};
use crate::Action;
use crate::ledger::Live;

/// The number of next runs in the status of a schedule.
pub(crate) const NEXT_RUNS: usize = 5;

/// The maximum length of a text in the description of an action, in characters.
const MAX_EXCERPT_CHARS: usize = 100;

/// The note on a schedule whose run waits for an approval.
const WAITING_NOTE: &str = "its run waits for a person to approve a call";

/// The maximum length of a result in the details of a run, in characters.
const MAX_DETAIL_CHARS: usize = 600;

/// The status of a schedule.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ScheduleStatus {
    /// Its id.
    pub schedule_id: String,
    /// Its label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Its state.
    pub status: ScheduleState,
    /// The times of its runs.
    pub when: String,
    /// Its action.
    pub action: String,
    /// The first of its next runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub next_runs: Vec<String>,
    /// The number of runs that were started.
    pub runs: u64,
    /// The number of runs after which it ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_runs: Option<u64>,
    /// The number of runs that were missed because it was too late.
    pub missed: u64,
    /// The number of runs that were skipped because another was in progress.
    pub skipped: u64,
    /// The behavior if a run is due while another is in progress.
    pub overlap: Overlap,
    /// The maximum delay of a run in seconds.
    pub catch_up: u64,
    /// The last run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_run: Option<LastRun>,
    /// The time of its creation.
    #[schemars(with = "String")]
    #[serde(serialize_with = "crate::time::to_second::serialize")]
    pub created: Timestamp,
    /// The time of its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    #[serde(serialize_with = "crate::time::to_second::optional::serialize")]
    pub ended: Option<Timestamp>,
    /// A note for the caller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl Live<Schedule, ScheduleTime> {
    /// Returns the status, with up to `next_runs` next runs.
    pub(super) fn status(&self, next_runs: usize) -> ScheduleStatus {
        let (schedule, time) = (self.task(), &self.local);
        let next_runs = self.next_runs(next_runs);
        ScheduleStatus {
            schedule_id: self.id.as_ref().to_owned(),
            label: schedule.label.clone(),
            status: schedule.displayed_state(),
            when: time.description(),
            action: description(&schedule.action),
            next_runs: next_runs.into_iter().map(|moment| format_moment(moment, time.zone())).collect(),
            runs: schedule.runs,
            max_runs: schedule.max_runs,
            missed: schedule.missed,
            skipped: schedule.skipped,
            overlap: schedule.overlap,
            catch_up: schedule.catch_up,
            last_run: schedule.last_run.as_ref().map(to_second),
            created: schedule.created,
            ended: schedule.ended,
            note: (schedule.displayed_state() == ScheduleState::WaitingForApproval)
                .then(|| WAITING_NOTE.to_owned()),
        }
    }
}

impl ScheduleStatus {
    /// Removes the detail of the last run, which may be long, for lists.
    pub(super) fn without_run_detail(mut self) -> Self {
        if let Some(last) = &mut self.last_run {
            last.detail = None;
        }
        self
    }

    pub(super) fn with_note(mut self, note: impl Into<String>) -> Self {
        self.note = Some(note.into());
        self
    }
}

/// Returns a run for display, with its times to the second. The stored times keep the fraction, which identifies a run.
fn to_second(run: &LastRun) -> LastRun {
    let whole = |at: Timestamp| Timestamp::from_second(at.as_second()).unwrap_or(at);
    let (due, started, ended) = (whole(run.due), whole(run.started), run.ended.map(whole));
    LastRun { due, started, ended, ..run.clone() }
}

/// Returns a short description of an action.
fn description(action: &Action) -> String {
    match action {
        Action::Notification { message, channel: None } => format!("notification: {}", excerpt(message)),
        Action::Notification { message, channel: Some(channel) } => {
            format!("notification by {}: {}", excerpt(channel), excerpt(message))
        }
        Action::ToolCall { tool, .. } => format!("tool_call: {}", excerpt(tool)),
        Action::LlmPrompt { prompt } => format!("llm_prompt: {}", excerpt(prompt)),
    }
}

/// Returns a notification about a schedule.
pub(super) fn notification_text(id: &str, schedule: &Schedule, what: &str) -> String {
    let name = match &schedule.label {
        Some(label) => format!("{id} “{label}”"),
        None => id.to_owned(),
    };
    format!("The schedule {name} ({}) {what}", description(&schedule.action))
}

/// Truncates a result.
pub(super) fn result_excerpt(text: &str) -> String {
    ellipsize_chars(text, MAX_DETAIL_CHARS).into_owned()
}

fn excerpt(text: &str) -> String {
    ellipsize_chars(text, MAX_EXCERPT_CHARS).into_owned()
}
