//! What is told of a schedule.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::record::{LastRun, Overlap, Schedule, ScheduleState};
use super::time::{ScheduleTime, shown};
use crate::Action;
use crate::text::cut;

/// How many moments to come are told of one schedule.
pub const NEXT_RUNS: usize = 5;

/// How much of a text is told where several are listed, in characters.
const LISTED_CHARS: usize = 100;

/// Note on a run that has not done anything for the lack of an answer.
const WAITING_NOTE: &str = "its run waits for a person to approve a call";

/// How much of a result is told, in characters.
const TOLD_CHARS: usize = 600;

/// What is told of a schedule.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ScheduleStatus {
    /// Its id.
    pub schedule_id: String,
    /// What it was called when it was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// How it stands.
    pub status: ScheduleState,
    /// When it runs.
    pub when: String,
    /// What it does.
    pub action: String,
    /// The moments to come, the first of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub next_runs: Vec<String>,
    /// How many runs were started.
    pub runs: u64,
    /// How many runs it has in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_runs: Option<u64>,
    /// How many were not made since it was too late for them.
    pub missed: u64,
    /// How many were not made since another was under way.
    pub skipped: u64,
    /// What happens to a run that is due while another is under way.
    pub overlap: Overlap,
    /// How late a run may be started, in seconds.
    pub catch_up: u64,
    /// The run that was started last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_run: Option<LastRun>,
    /// When it was made.
    #[schemars(with = "String")]
    #[serde(serialize_with = "crate::time::to_second::serialize")]
    pub created: Timestamp,
    /// When it was over.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    #[serde(serialize_with = "crate::time::to_second::optional::serialize")]
    pub ended: Option<Timestamp>,
    /// What else there is to know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl ScheduleStatus {
    /// All there is to tell, with up to so many moments to come.
    pub(super) fn of(id: &str, schedule: &Schedule, time: &ScheduleTime, next_runs: usize) -> Self {
        let left = schedule.max_runs.map_or(u64::MAX, |max| max.saturating_sub(schedule.runs));
        let next_runs = usize::try_from(left).unwrap_or(usize::MAX).min(next_runs);
        let next_runs = time.from(schedule.next, next_runs);
        Self {
            schedule_id: id.to_owned(),
            label: schedule.label.clone(),
            status: schedule.told_state(),
            when: time.described(),
            action: described(&schedule.action),
            next_runs: next_runs.into_iter().map(|moment| shown(moment, time.zone())).collect(),
            runs: schedule.runs,
            max_runs: schedule.max_runs,
            missed: schedule.missed,
            skipped: schedule.skipped,
            overlap: schedule.overlap,
            catch_up: schedule.catch_up,
            last_run: schedule.last_run.as_ref().map(to_second),
            created: schedule.created,
            ended: schedule.ended,
            note: (schedule.told_state() == ScheduleState::WaitingForApproval)
                .then(|| WAITING_NOTE.to_owned()),
        }
    }

    /// Without what may be long, for lists.
    pub(super) fn without_detail(mut self) -> Self {
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

/// A run with its times to the second. They are kept as they are, since its moment tells one run from another.
fn to_second(run: &LastRun) -> LastRun {
    let whole = |at: Timestamp| Timestamp::from_second(at.as_second()).unwrap_or(at);
    let (due, started, ended) = (whole(run.due), whole(run.started), run.ended.map(whole));
    LastRun { due, started, ended, ..run.clone() }
}

/// An action in a few words.
fn described(action: &Action) -> String {
    match action {
        Action::Notification { message, channel: None } => format!("notification: {}", listed(message)),
        Action::Notification { message, channel: Some(channel) } => {
            format!("notification by {}: {}", listed(channel), listed(message))
        }
        Action::ToolCall { tool, .. } => format!("tool_call: {}", listed(tool)),
        Action::LlmPrompt { prompt } => format!("llm_prompt: {}", listed(prompt)),
    }
}

/// What a session is told of a schedule: which one, and how it stands with it.
pub(super) fn told(id: &str, schedule: &Schedule, what: &str) -> String {
    let name = match &schedule.label {
        Some(label) => format!("{id} “{label}”"),
        None => id.to_owned(),
    };
    format!("The schedule {name} ({}) {what}", described(&schedule.action))
}

/// The beginning of a result.
pub(super) fn beginning(text: &str) -> String {
    cut(text, TOLD_CHARS)
}

fn listed(text: &str) -> String {
    cut(text, LISTED_CHARS)
}
