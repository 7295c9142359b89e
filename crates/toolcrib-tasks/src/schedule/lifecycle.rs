//! Creation and cancellation of schedules.

use std::sync::Arc;

use serde_json::json;
use toolcrib_model::{ErrorKind, ToolCall, ToolError};
use toolcrib_port::CallContext;

use super::leases::remove_cancel_marker;
use super::record::Schedule;
use super::status::{NEXT_RUNS, ScheduleStatus};
use super::table::LiveSchedule;
use super::time::{MIN_CRON_INTERVAL, ScheduleTime, format_moment};
use super::{
    CANCEL_WAIT, MAX_ACTION_BYTES, MAX_CATCH_UP, MAX_LABEL_CHARS, MIN_CATCH_UP, PAST_TOLERANCE,
    ScheduleRequest, SchedulesInner, invalid,
};
use crate::id::random_id;
use crate::owner::Owner;
use crate::{Action, Change, MAX_NOTIFICATION_CHARS, RecordKind};

impl SchedulesInner {
    /// Validates a request, and returns its schedule.
    pub(super) fn schedule(
        &self,
        request: &ScheduleRequest,
        context: &CallContext,
    ) -> Result<Schedule, ToolError> {
        let ScheduleRequest { time, action, label, overlap, catch_up, max_runs } = request;
        self.check(action, context)?;
        let now = self.services.clock.now();
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
        self.services.tool_caller()?;
        action.check(&self.services)?;
        let bytes = json!(action).to_string().len();
        if bytes > MAX_ACTION_BYTES {
            let message = format!("the action has {bytes} bytes; the limit is {MAX_ACTION_BYTES}");
            return Err(invalid(message).with_hint("keep what is long in a file, and name the file"));
        }
        match action {
            Action::ToolCall { tool, params } => {
                self.services.check_call(&ToolCall::new(tool, params.clone()), context)
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
        let id =
            random_id("schedule").map_err(|error| ToolError::new(ErrorKind::Internal, error.to_string()))?;
        let live = LiveSchedule::new(id, schedule.clone(), time, false);
        let _change_lock = live.change_lock.lock().await;
        let forgotten = self.table.add(&live, &self.settings)?;
        let forgotten = forgotten.into_iter().map(|id| Change::remove(RecordKind::Schedule, id));
        let saved = self.save(&live, schedule, forgotten.collect()).await;
        self.wake(&live);
        let status = live.status(NEXT_RUNS);
        Ok(match saved {
            Ok(()) if self.services.store.is_durable() => status,
            Ok(()) => status.with_note("it is lost when the program ends: tasks are not stored in a file"),
            Err(error) => {
                status.with_note(format!("it is lost if the program ends before this is resolved: {error}"))
            }
        })
    }

    pub(super) async fn cancel(&self, live: &Arc<LiveSchedule>) -> ScheduleStatus {
        let change_lock = live.change_lock.lock().await;
        let has_lease = self.acquire(live).await;
        let now = self.services.clock.now();
        let mut schedule = Schedule::clone(&live.schedule());
        if !schedule.is_active() {
            self.release_if_idle(live).await;
            drop(change_lock);
            return live.status(0).with_note("it had already ended");
        }
        schedule.cancel(now);
        let saved = if has_lease {
            let saved = self.save(live, schedule, Vec::new()).await;
            self.release_if_idle(live).await;
            saved
        } else {
            live.set(schedule);
            self.put_cancel_marker(live).await
        };
        self.wake(live);
        drop(change_lock);
        live.cancel_runs();
        let ended = async {
            // `self` holds the sender, so this cannot fail.
            let _ = self.running.subscribe().wait_for(|_| !live.is_running()).await;
        };
        // After a timeout the status says that the run is in progress.
        let _ = tokio::time::timeout(CANCEL_WAIT, ended).await;
        let status = live.status(0);
        match saved {
            Ok(()) if has_lease => status,
            Ok(()) => status.with_note("another process runs it, and will cancel the run"),
            Err(error) => {
                status.with_note(format!("it may run again when the program is started again: {error}"))
            }
        }
    }

    /// Returns a schedule after reloading the changes of other processes.
    pub(super) async fn reloaded<'a>(&self, live: &'a Arc<LiveSchedule>) -> &'a LiveSchedule {
        if self.services.is_shared() && live.is_stored() {
            let _change_lock = live.change_lock.lock().await;
            if !live.is_running()
                && let Err(error) = self.reload(live).await
            {
                tracing::warn!(%error, id = live.id, "the changes of other processes to a schedule cannot be read");
            }
        }
        live
    }

    /// Applies the cancel markers of processes that have ended.
    pub(super) async fn apply_cancel_markers(&self, ids: impl Iterator<Item = &str>) {
        // In a shared store, the process that runs a schedule applies its marker.
        if self.services.is_shared() {
            return;
        }
        for id in ids {
            let also = vec![remove_cancel_marker(id)];
            let Some(live) = self.table.get(id) else {
                if let Err(error) = self.services.store.apply(also).await {
                    tracing::warn!(%error, %id, "the cancel marker of a schedule cannot be removed");
                }
                continue;
            };
            let mut schedule = Schedule::clone(&live.schedule());
            schedule.cancel(self.services.clock.now());
            let _ = self.save(&live, schedule, also).await;
            self.wake_interrupted(&live);
        }
    }
}
