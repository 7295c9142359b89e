//! The past and next runs of a schedule, for operators.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::record::{RunOutcome, Schedule};
use super::status::NEXT_RUNS;
use super::time::ScheduleTime;
use crate::ledger::Live;

/// The maximum number of ended runs that a schedule remembers.
pub(super) const MAX_PAST_RUNS: usize = 20;

/// A run of a schedule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScheduleRun {
    /// The time at which it was due.
    pub due: Timestamp,
    /// The time of its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Timestamp>,
    /// Its outcome.
    pub outcome: RunOutcome,
}

/// The runs of a schedule in the order of their times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ScheduleTimeline {
    /// The latest runs that have ended, then those in progress.
    pub past: Vec<ScheduleRun>,
    /// The first of the next runs.
    pub next: Vec<Timestamp>,
}

impl Schedule {
    /// Records a run that has ended. The oldest one is dropped when there are more than [`MAX_PAST_RUNS`].
    pub(super) fn remember(&mut self, due: Timestamp, ended: Timestamp, outcome: RunOutcome) {
        self.past_runs.push(ScheduleRun { due, ended: Some(ended), outcome });
        // A record of another version may have more.
        let excess = self.past_runs.len().saturating_sub(MAX_PAST_RUNS);
        self.past_runs.drain(..excess);
    }
}

impl Live<Schedule, ScheduleTime> {
    /// Returns the past and next runs.
    pub(super) fn timeline(&self) -> ScheduleTimeline {
        let schedule = self.task();
        let running = schedule.running.iter();
        let running =
            running.map(|run| ScheduleRun { due: run.due, ended: None, outcome: RunOutcome::Running });
        let mut past: Vec<_> = schedule.past_runs.iter().cloned().chain(running).collect();
        past.sort_by_key(|run| run.due);
        ScheduleTimeline { past, next: self.next_runs(NEXT_RUNS) }
    }

    /// Returns up to `count` next runs, and no more than the schedule has left.
    pub(super) fn next_runs(&self, count: usize) -> Vec<Timestamp> {
        let schedule = self.task();
        let left = schedule.max_runs.map_or(u64::MAX, |max| max.saturating_sub(schedule.runs));
        let count = usize::try_from(left).unwrap_or(usize::MAX).min(count);
        self.local.from(schedule.next, count)
    }
}
