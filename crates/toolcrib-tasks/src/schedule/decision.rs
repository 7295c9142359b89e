//! What is to be done with a schedule at a moment. Nothing here waits or keeps.

use jiff::{SignedDuration, Timestamp};

use super::record::{LastRun, Overlap, RunOutcome, Schedule, ScheduleState, Started, run_key};
use super::time::ScheduleTime;

/// How many runs of one schedule may be under way beside each other.
pub const MAX_OVERLAPPING: usize = 4;

/// How often a run is started that the end of the program interrupts each time.
pub(super) const MAX_ATTEMPTS: u32 = 3;

/// By how much a clock has to be set back for moments that were counted by it not to count.
pub(super) const SET_BACK: SignedDuration = SignedDuration::from_hours(24);

/// What is done with a run of whose end nothing is known.
pub(super) enum Interrupted {
    /// It is made again.
    Repeat(Timestamp),
    /// It was cancelled anyway.
    Cancelled(Timestamp),
    /// Nobody knows what came of it.
    Unknown(Timestamp),
}

impl Schedule {
    /// Decides what has become due, counts what is not run, and gives the moment whose run is to be started, which counts as
    /// started from here on.
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

    /// Writes down that a run starts.
    pub(super) fn start(&mut self, id: &str, due: Timestamp, now: Timestamp, may_repeat: bool) {
        self.running.push(Started { due, may_repeat, attempts: 1, waits_for_person: false });
        self.last_run = Some(LastRun {
            run_key: run_key(id, due),
            due,
            started: now,
            ended: None,
            outcome: RunOutcome::Running,
            detail: None,
        });
    }

    /// Sets whether the call of a run waits for a person, and returns true if that is new.
    pub(super) fn set_waiting(&mut self, due: Timestamp, waits: bool) -> bool {
        let run = self.running.iter_mut().find(|started| started.due == due);
        run.is_some_and(|run| std::mem::replace(&mut run.waits_for_person, waits) != waits)
    }

    /// Returns the state for users.
    pub(super) fn told_state(&self) -> ScheduleState {
        let waits = self.running.iter().any(|started| started.waits_for_person);
        if self.is_active() && waits { ScheduleState::WaitingForApproval } else { self.state }
    }

    /// Writes down how a run has ended.
    pub(super) fn end(
        &mut self,
        due: Timestamp,
        now: Timestamp,
        outcome: RunOutcome,
        detail: Option<String>,
    ) {
        self.running.retain(|started| started.due != due);
        if let Some(last) = self.last_run.as_mut().filter(|last| last.due == due) {
            (last.ended, last.outcome, last.detail) = (Some(now), outcome, detail);
        }
    }

    /// Decides what is done with the runs that `is_lost` and that the end of the program has interrupted.
    pub(super) fn take_interrupted(
        &mut self,
        is_lost: impl Fn(Timestamp) -> bool,
        now: Timestamp,
    ) -> Vec<Interrupted> {
        let mut found = Vec::new();
        for started in &mut self.running {
            if !is_lost(started.due) {
                continue;
            }
            found.push(match (started.may_repeat, self.state) {
                (true, ScheduleState::Cancelled) => Interrupted::Cancelled(started.due),
                (true, _) if started.attempts < MAX_ATTEMPTS => {
                    started.attempts += 1;
                    started.waits_for_person = false;
                    Interrupted::Repeat(started.due)
                }
                _ => Interrupted::Unknown(started.due),
            });
        }
        // It waited for the end of a run, and the program was down.
        if !found.is_empty() && self.queued.is_some_and(|queued| now.duration_since(queued) > self.catch_up())
        {
            self.queued = None;
            self.missed += 1;
        }
        found
    }

    /// It is over where nothing is to come.
    pub(super) fn settle(&mut self, now: Timestamp) {
        let is_over = self.next.is_none() && self.queued.is_none() && self.running.is_empty();
        if self.is_active() && is_over {
            self.state = ScheduleState::Completed;
            self.ended = Some(now);
        }
    }

    /// Nothing more is to come.
    pub(super) fn cancel(&mut self, now: Timestamp) {
        if self.is_active() {
            self.state = ScheduleState::Cancelled;
            (self.next, self.queued, self.ended) = (None, None, Some(now));
        }
    }

    /// Whether the clock was far ahead when it ran last, so that it would wait until that moment has come.
    pub(super) fn is_stuck(&self, now: Timestamp) -> bool {
        let is_ahead = |last: &LastRun| last.due.duration_since(now) > SET_BACK;
        self.next.is_some() && self.last_run.as_ref().is_some_and(is_ahead)
    }

    /// When it is to be looked at again.
    pub(super) fn wake(&self, retention: SignedDuration) -> Option<Timestamp> {
        if !self.is_active() {
            let ended = self.ended.filter(|_| self.running.is_empty())?;
            return Some(ended.checked_add(retention).unwrap_or(Timestamp::MAX));
        }
        let queued = self.queued.filter(|_| self.running.is_empty());
        [queued, self.next].into_iter().flatten().min()
    }
}
