//! Creation and cancellation of schedules.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::json;
use toolcrib_model::{ToolCall, ToolError};
use toolcrib_port::CallContext;

use super::record::Schedule;
use super::status::{NEXT_RUNS, ScheduleStatus};
use super::time::{MIN_CRON_INTERVAL, ScheduleTime, format_moment};
use super::{
    MAX_ACTION_BYTES, MAX_CATCH_UP, MAX_LABEL_CHARS, MIN_CATCH_UP, PAST_TOLERANCE, ScheduleRequest,
    SchedulesInner, invalid,
};
use crate::Action;
use crate::ledger::{CANCEL_WAIT, Live, remove_cancel_marker};
use crate::notifications::MAX_NOTIFICATION_CHARS;
use crate::owner::Owner;
use crate::store::{Change, RecordKind};

impl SchedulesInner {
    /// Validates a request, and returns its schedule.
    pub(super) fn schedule(
        &self,
        request: &ScheduleRequest,
        context: &CallContext,
    ) -> Result<Schedule, ToolError> {
        let ScheduleRequest { time, action, label, overlap, catch_up, max_runs } = request;
        self.check(action, context)?;
        let now = self.ledger.services.clock.now();
        let next = match time {
            ScheduleTime::Once(at) if now.duration_since(at.timestamp()) > PAST_TOLERANCE => {
                let at = format_moment(at.timestamp(), at.time_zone());
                let now = format_moment(now, time.zone());
                let message = format!("{at} is in the past: it is now {now}");
                return Err(invalid(message).with_hint("give a future time, such as `in 5m`"));
            }
            ScheduleTime::Once(at) => Some(at.timestamp()),
            ScheduleTime::Cron(_) => time.after(now),
        };
        let next = next.ok_or_else(|| invalid("the pattern has no future run".to_owned()))?;
        if let Some(interval) = time.interval_below_minimum(now) {
            let (is, may) = (interval.as_secs(), MIN_CRON_INTERVAL.as_secs());
            return Err(invalid(format!("it would run every {is} s; the minimum interval is {may} s"))
                .with_hint("use a longer interval"));
        }
        let mut schedule = Schedule::new(Owner::of(context), time, action.clone(), now, next);
        let label = label.as_deref().map(str::trim).filter(|label| !label.is_empty());
        if let Some(chars) = label.map(|label| label.chars().count()).filter(|chars| *chars > MAX_LABEL_CHARS)
        {
            return Err(invalid(format!("`label` has {chars} characters; the limit is {MAX_LABEL_CHARS}")));
        }
        let catch_up = catch_up.unwrap_or(self.settings.catch_up).clamp(MIN_CATCH_UP, MAX_CATCH_UP);
        (schedule.label, schedule.overlap) = (label.map(str::to_owned), *overlap);
        (schedule.catch_up, schedule.max_runs) = (catch_up.as_secs(), max_runs.filter(|most| *most > 0));
        Ok(schedule)
    }

    /// Checks an action when it is scheduled. A call is checked again when it is made, and approvals are requested only
    /// then.
    fn check(&self, action: &Action, context: &CallContext) -> Result<(), ToolError> {
        self.ledger.services.tool_caller()?;
        action.check(&self.ledger.services)?;
        let bytes = json!(action).to_string().len();
        if bytes > MAX_ACTION_BYTES {
            let message = format!("the action has {bytes} bytes; the limit is {MAX_ACTION_BYTES}");
            return Err(invalid(message).with_hint("keep what is long in a file, and name the file"));
        }
        match action {
            Action::ToolCall { tool, params } => {
                self.ledger.services.check_call(&ToolCall::new(tool, params.clone()), context)
            }
            Action::Notification { message: text, .. } | Action::LlmPrompt { prompt: text }
                if text.trim().is_empty() =>
            {
                Err(invalid("the text is empty".to_owned()))
            }
            Action::Notification { message, .. } if message.chars().count() > MAX_NOTIFICATION_CHARS => {
                let chars = message.chars().count();
                let message =
                    format!("`message` has {chars} characters; the limit is {MAX_NOTIFICATION_CHARS}");
                Err(invalid(message))
            }
            _ => Ok(()),
        }
    }

    pub(super) async fn add(
        &self,
        schedule: Schedule,
        time: ScheduleTime,
    ) -> Result<ScheduleStatus, ToolError> {
        let live = Live::create(schedule, time)?;
        let saved = self.ledger.insert(&live, &self.settings.bounds()).await?;
        self.wake(&live);
        let status = live.status(NEXT_RUNS);
        Ok(match saved {
            Ok(()) if self.ledger.services.store.is_durable() => status,
            Ok(()) => status.with_note("it is lost when the program ends: tasks are not stored in a file"),
            Err(error) => {
                status.with_note(format!("it is lost if the program ends before this is resolved: {error}"))
            }
        })
    }

    pub(super) async fn cancel(&self, live: &Arc<Live<Schedule, ScheduleTime>>) -> ScheduleStatus {
        let change_lock = live.change_lock.lock().await;
        let has_lease = self.acquire(live).await;
        let now = self.ledger.services.clock.now();
        let mut schedule = Schedule::clone(&live.task());
        if !schedule.is_active() {
            self.ledger.release_if_idle(live).await;
            drop(change_lock);
            return live.status(0).with_note("it had already ended");
        }
        schedule.cancel(now);
        let saved = if has_lease {
            let saved = self.ledger.commit(live, schedule, Vec::new()).await;
            self.ledger.release_if_idle(live).await;
            saved
        } else {
            live.set(schedule);
            self.ledger.put_cancel_marker(live).await
        };
        self.wake(live);
        drop(change_lock);
        live.cancel_runs();
        // After a timeout the status says that the run is in progress.
        let _ = tokio::time::timeout(CANCEL_WAIT, self.ledger.run_ended(|_| !live.is_running())).await;
        let status = live.status(0);
        match saved {
            Ok(()) if has_lease => status,
            Ok(()) => status.with_note("another process runs it, and will cancel the run"),
            Err(error) => {
                status.with_note(format!("it may run again when the program is started again: {error}"))
            }
        }
    }

    /// Acquires the lease of a schedule. Applies the changes and the cancel marker of other processes. Returns false if
    /// this process may not run the schedule. The caller holds the change lock.
    pub(super) async fn acquire(&self, live: &Live<Schedule, ScheduleTime>) -> bool {
        match self.ledger.acquire(live).await {
            Ok(true) => {}
            Ok(false) => return false,
            Err(error) => {
                tracing::warn!(%error, id = %live.id, "the lease of a schedule cannot be acquired");
                return false;
            }
        }
        if !live.is_running() {
            let (now, mut schedule) = (self.ledger.services.clock.now(), Schedule::clone(&live.task()));
            let also = self.apply_cancel_marker(live, &mut schedule, now).await;
            if !also.is_empty() {
                // After a failure the marker still exists, so this is retried.
                let _ = self.ledger.commit(live, schedule, also).await;
            }
        }
        true
    }

    /// Cancels a schedule that has a cancel marker, and returns the change that removes the marker.
    pub(super) async fn apply_cancel_marker(
        &self,
        live: &Live<Schedule, ScheduleTime>,
        schedule: &mut Schedule,
        now: Timestamp,
    ) -> Vec<Change> {
        if !self.ledger.has_cancel_marker(live).await {
            return Vec::new();
        }
        schedule.cancel(now);
        vec![remove_cancel_marker(RecordKind::Schedule, &live.id)]
    }

    /// Applies the cancel markers of processes that have ended.
    pub(super) async fn apply_left_cancel_markers(&self, ids: &[String]) {
        // In a shared store, the process that runs a schedule applies its marker.
        if self.ledger.services.is_shared() {
            return;
        }
        for id in ids {
            let also = vec![remove_cancel_marker(RecordKind::Schedule, id)];
            let Ok(live) = self.ledger.get(id) else {
                if let Err(error) = self.ledger.services.store.apply(also).await {
                    tracing::warn!(%error, %id, "the cancel marker of a schedule cannot be removed");
                }
                continue;
            };
            let mut schedule = Schedule::clone(&live.task());
            schedule.cancel(self.ledger.services.clock.now());
            // A failed write is retried later.
            let _ = self.ledger.commit(&live, schedule, also).await;
        }
    }
}
