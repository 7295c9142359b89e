//! How schedules are made and cancelled.

use std::sync::Arc;

use serde_json::json;
use toolcrib_model::{ErrorKind, ToolCall, ToolError};
use toolcrib_port::CallContext;

use super::record::Schedule;
use super::shared::unmark;
use super::status::{NEXT_RUNS, ScheduleStatus};
use super::table::Live;
use super::time::{MIN_CRON_INTERVAL, ScheduleTime, shown};
use super::{
    CANCEL_WAIT, Inner, JUST_NOW, MAX_ACTION_BYTES, MAX_CATCH_UP, MAX_LABEL_CHARS, MIN_CATCH_UP,
    ScheduleRequest, invalid,
};
use crate::id::random_id;
use crate::owner::Owner;
use crate::{Action, Change, Kind, MAX_NOTIFICATION_CHARS};

impl Inner {
    /// The schedule that is wanted, once it is one that can be.
    pub(super) fn schedule(
        &self,
        request: &ScheduleRequest,
        context: &CallContext,
    ) -> Result<Schedule, ToolError> {
        let ScheduleRequest { time, action, label, overlap, catch_up, max_runs } = request;
        self.check(action, context)?;
        let now = self.services.clock.now();
        let next = match time {
            ScheduleTime::Once(at) if now.duration_since(at.timestamp()) > JUST_NOW => {
                let at = shown(at.timestamp(), at.time_zone());
                let now = shown(now, time.zone());
                let message = format!("that moment has passed: it is {now}, and {at} was meant");
                return Err(invalid(message).with_hint("give one that is to come, such as `in 5m`"));
            }
            ScheduleTime::Once(at) => Some(at.timestamp()),
            ScheduleTime::Cron(_) => time.after(now),
        };
        let next = next.ok_or_else(|| invalid("that pattern has no moment to come".to_owned()))?;
        if let Some(interval) = time.too_short(now) {
            let (is, may) = (interval.as_secs(), MIN_CRON_INTERVAL.as_secs());
            return Err(invalid(format!("it would run every {is} s, and may run every {may} s"))
                .with_hint("leave longer between two runs"));
        }
        let mut schedule = Schedule::new(Owner::of(context), time, action.clone(), now, next);
        let label = label.as_deref().map(str::trim).filter(|label| !label.is_empty());
        if let Some(chars) = label.map(|label| label.chars().count()).filter(|chars| *chars > MAX_LABEL_CHARS)
        {
            return Err(invalid(format!("`label` has {chars} characters, and may have {MAX_LABEL_CHARS}")));
        }
        let catch_up = catch_up.unwrap_or(self.settings.catch_up).clamp(MIN_CATCH_UP, MAX_CATCH_UP);
        (schedule.label, schedule.overlap) = (label.map(str::to_owned), *overlap);
        (schedule.catch_up, schedule.max_runs) = (catch_up.as_secs(), max_runs.filter(|most| *most > 0));
        Ok(schedule)
    }

    /// Checks an action before it is due. A call is checked again when it is made, and nobody is asked before that.
    fn check(&self, action: &Action, context: &CallContext) -> Result<(), ToolError> {
        self.services.entrance()?;
        action.check(&self.services)?;
        let bytes = json!(action).to_string().len();
        if bytes > MAX_ACTION_BYTES {
            let message = format!("the action has {bytes} bytes, and may have {MAX_ACTION_BYTES}");
            return Err(invalid(message).with_hint("keep what is long in a file, and name the file"));
        }
        match action {
            Action::ToolCall { tool, params } => {
                self.services.check_call(&ToolCall::new(tool, params.clone()), context)
            }
            Action::Notification { message: text, .. } | Action::LlmPrompt { prompt: text }
                if text.trim().is_empty() =>
            {
                Err(invalid("there is nothing to say: the text is empty".to_owned()))
            }
            Action::Notification { message, .. } if message.chars().count() > MAX_NOTIFICATION_CHARS => {
                let chars = message.chars().count();
                let message =
                    format!("`message` has {chars} characters, and may have {MAX_NOTIFICATION_CHARS}");
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
        let live = Live::new(id, schedule.clone(), time, false);
        let _gate = live.gate.lock().await;
        let forgotten = self.table.begin(&live, &self.settings)?;
        let forgotten = forgotten.into_iter().map(|id| Change::remove(Kind::Schedule, id));
        let kept = self.keep(&live, schedule, forgotten.collect()).await;
        self.wake(&live);
        let status = live.status(NEXT_RUNS);
        Ok(match kept {
            Ok(()) if self.services.store.is_durable() => status,
            Ok(()) => status.with_note("it is forgotten when the program ends: nothing is kept in a file"),
            Err(error) => status
                .with_note(format!("it is forgotten when the program ends, as long as this lasts: {error}")),
        })
    }

    pub(super) async fn cancel(&self, live: &Arc<Live>) -> ScheduleStatus {
        let gate = live.gate.lock().await;
        let is_here = self.take_over(live).await;
        let now = self.services.clock.now();
        let mut schedule = Schedule::clone(&live.schedule());
        if !schedule.is_active() {
            self.let_go(live).await;
            drop(gate);
            return live.status(0).with_note("it was over already");
        }
        schedule.cancel(now);
        let kept = if is_here {
            let kept = self.keep(live, schedule, Vec::new()).await;
            self.let_go(live).await;
            kept
        } else {
            live.set(schedule);
            self.mark(live).await
        };
        self.wake(live);
        drop(gate);
        live.cancel_runs();
        let ended = async {
            // The sender is this one's own.
            let _ = self.running.subscribe().wait_for(|_| !live.is_running()).await;
        };
        // One that has not ended by then is told to be under way.
        let _ = tokio::time::timeout(CANCEL_WAIT, ended).await;
        let status = live.status(0);
        match kept {
            Ok(()) if is_here => status,
            Ok(()) => status.with_note("another process runs it, and ends its run"),
            Err(error) => {
                status.with_note(format!("it may run again when the program is started again: {error}"))
            }
        }
    }

    /// A schedule as it is, also where another process has changed it.
    pub(super) async fn newest<'a>(&self, live: &'a Arc<Live>) -> &'a Live {
        if self.services.is_shared() && live.is_stored() {
            let _gate = live.gate.lock().await;
            if !live.is_running()
                && let Err(error) = self.read_again(live).await
            {
                tracing::warn!(%error, id = live.id, "what another process has made of a schedule is not seen");
            }
        }
        live
    }

    /// Cancels what another process has marked that is not there any more.
    pub(super) async fn clear_marks(&self, ids: impl Iterator<Item = &str>) {
        // Where the store is shared, whoever runs one finds its mark.
        if self.services.is_shared() {
            return;
        }
        for id in ids {
            let also = vec![unmark(id)];
            let Some(live) = self.table.get(id) else {
                if let Err(error) = self.services.store.apply(also).await {
                    tracing::warn!(%error, %id, "that a schedule was cancelled is still kept");
                }
                continue;
            };
            let mut schedule = Schedule::clone(&live.schedule());
            schedule.cancel(self.services.clock.now());
            let _ = self.keep(&live, schedule, also).await;
            self.wake_interrupted(&live);
        }
    }
}
