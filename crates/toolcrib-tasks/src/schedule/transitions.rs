//! State transitions of a schedule, without I/O.

use jiff::{SignedDuration, Timestamp};

use super::record::{ActiveRun, LastRun, Overlap, RunOutcome, Schedule, ScheduleState, run_key};
use super::time::ScheduleTime;
use crate::ledger::CLOCK_SET_BACK;

/// The maximum number of concurrent runs of one schedule.
pub(crate) const MAX_OVERLAPPING: usize = 4;

/// The maximum number of attempts of a run that the end of the program interrupts.
pub(super) const MAX_ATTEMPTS: u32 = 3;

/// The decision about an interrupted run.
pub(super) enum InterruptedRun {
    /// The run is repeated.
    Repeat(Timestamp),
    /// The run was cancelled anyway.
    Cancelled(Timestamp),
    /// The outcome of the run is unknown.
    Unknown(Timestamp),
}

impl Schedule {
    /// Returns the due time of the run to start, if any, and counts missed and skipped runs. The returned run counts as
    /// started.
    pub(super) fn take_due(&mut self, time: &ScheduleTime, now: Timestamp) -> Option<Timestamp> {
        if !self.is_active() {
            return None;
        }
        let mut due = None;
        if let Some(first) = self.next.filter(|next| *next <= now) {
            let (latest, count) = time.latest(first, now);
            self.next = time.after(latest);
            due = (now.duration_since(latest) <= self.catch_up()).then_some(latest);
            self.missed += count - u64::from(due.is_some());
        }
        let has_room = match self.overlap {
            Overlap::Skip | Overlap::QueueOne => self.running.is_empty(),
            Overlap::Allow => self.running.len() < MAX_OVERLAPPING,
        };
        let run = if has_room { self.queued.take().or_else(|| due.take()) } else { None };
        if let Some(waiting) = due {
            let displaced =
                if self.overlap == Overlap::QueueOne { self.queued.replace(waiting) } else { Some(waiting) };
            self.skipped += u64::from(displaced.is_some());
        }
        if run.is_some() {
            self.runs += 1;
            if self.max_runs.is_some_and(|max| self.runs >= max) {
                (self.next, self.queued) = (None, None);
            }
        }
        run
    }

    /// Records the start of a run.
    pub(super) fn start(&mut self, id: &str, due: Timestamp, now: Timestamp, may_repeat: bool) {
        self.running.push(ActiveRun {
            due,
            may_repeat,
            attempts: 1,
            waits_for_person: false,
            is_not_begun: !may_repeat && self.action.records_start(),
        });
        self.last_run = Some(LastRun {
            run_key: run_key(id, due),
            due,
            started: now,
            ended: None,
            outcome: RunOutcome::Running,
            detail: None,
        });
    }

    /// Records whether the call of a run waits for a person, and returns true if that has changed.
    pub(super) fn set_waiting(&mut self, due: Timestamp, waits: bool) -> bool {
        let run = self.running.iter_mut().find(|started| started.due == due);
        run.is_some_and(|run| std::mem::replace(&mut run.waits_for_person, waits) != waits)
    }

    /// Returns the state for display.
    pub(super) fn displayed_state(&self) -> ScheduleState {
        let waits = self.running.iter().any(|started| started.waits_for_person);
        if self.is_active() && waits { ScheduleState::WaitingForApproval } else { self.state }
    }

    /// Records the end of a run.
    pub(super) fn end(
        &mut self,
        due: Timestamp,
        now: Timestamp,
        outcome: RunOutcome,
        detail: Option<String>,
    ) {
        self.running.retain(|started| started.due != due);
        self.remember(due, now, outcome);
        if let Some(last) = self.last_run.as_mut().filter(|last| last.due == due) {
            (last.ended, last.outcome, last.detail) = (Some(now), outcome, detail);
        }
    }

    /// Records that the call of a run begins.
    pub(super) fn begin(&mut self, due: Timestamp) {
        for started in self.running.iter_mut().filter(|started| started.due == due) {
            started.is_not_begun = false;
        }
    }

    /// Decides about the interrupted runs for which `is_lost` returns true.
    pub(super) fn take_interrupted(
        &mut self,
        is_lost: impl Fn(Timestamp) -> bool,
        now: Timestamp,
    ) -> Vec<InterruptedRun> {
        let mut found = Vec::new();
        for started in &mut self.running {
            if !is_lost(started.due) {
                continue;
            }
            let may_repeat = started.may_repeat || started.is_not_begun;
            found.push(match (may_repeat, self.state) {
                (true, ScheduleState::Cancelled) => InterruptedRun::Cancelled(started.due),
                (true, _) if started.is_not_begun || started.attempts < MAX_ATTEMPTS => {
                    started.attempts += u32::from(!started.is_not_begun);
                    started.waits_for_person = false;
                    InterruptedRun::Repeat(started.due)
                }
                _ => InterruptedRun::Unknown(started.due),
            });
        }
        // The queued run is too late because the program was down.
        if !found.is_empty() && self.queued.is_some_and(|queued| now.duration_since(queued) > self.catch_up())
        {
            self.queued = None;
            self.missed += 1;
        }
        found
    }

    /// Completes the schedule if no runs remain.
    pub(super) fn complete_if_done(&mut self, now: Timestamp) {
        let is_over = self.next.is_none() && self.queued.is_none() && self.running.is_empty();
        if self.is_active() && is_over {
            self.state = ScheduleState::Completed;
            self.ended = Some(now);
        }
    }

    /// Cancels the schedule, if it is active.
    pub(super) fn cancel(&mut self, now: Timestamp) {
        if self.is_active() {
            self.state = ScheduleState::Cancelled;
            (self.next, self.queued, self.ended) = (None, None, Some(now));
        }
    }

    /// Returns true if the clock was far ahead at the last run, so that the next run is far in the future.
    pub(super) fn is_stuck(&self, now: Timestamp) -> bool {
        let is_ahead = |last: &LastRun| last.due.duration_since(now) > CLOCK_SET_BACK;
        self.next.is_some() && self.last_run.as_ref().is_some_and(is_ahead)
    }

    /// Returns the time at which the schedule must be processed again.
    pub(super) fn wake(&self, retention: SignedDuration) -> Option<Timestamp> {
        if !self.is_active() {
            let ended = self.ended.filter(|_| self.running.is_empty())?;
            return Some(ended.checked_add(retention).unwrap_or(Timestamp::MAX));
        }
        let queued = self.queued.filter(|_| self.running.is_empty());
        [queued, self.next].into_iter().flatten().min()
    }
}
