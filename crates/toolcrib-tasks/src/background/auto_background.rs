//! The move of long calls to the background.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::json;
use tokio::time::Instant;
use tokio_util::sync::DropGuard;
use toolcrib_model::{ResultNote, Tool, ToolCall, ToolResult};
use toolcrib_port::{CallContext, Catalogue, Progress, ProgressListener, ResultStore, ToolCaller};
use tracing::Instrument as _;

use super::call::{LiveCall, LocalCall};
use super::task::BackgroundTask;
use super::{Background, BackgroundInner, TaskStatus};
use crate::ledger::Live;

/// A tool caller that moves long calls to the background. The result of such a call holds the id of its background
/// task.
pub struct BackgroundingCaller {
    tool_caller: Arc<dyn ToolCaller>,
    background: Background,
    after: Duration,
}

impl BackgroundingCaller {
    /// Wraps a tool caller, and moves its calls to the background after the given time.
    pub fn new(tool_caller: Arc<dyn ToolCaller>, background: Background, after: Duration) -> Self {
        Self { tool_caller, background, after }
    }

    /// Returns true if a call may continue without its caller. The tools of the runtime bound their own duration, except
    /// for those that only forward calls.
    fn may_detach(&self, call: &ToolCall, context: &CallContext) -> bool {
        let may_detach = |tool: &Arc<Tool>| !tool.name.is_of_runtime() || tool.forwarding().is_some();
        self.tool_caller
            .catalogue()
            .find_tools(&call.name, context)
            .is_ok_and(|tools| tools.iter().all(may_detach))
    }
}

#[async_trait]
impl ToolCaller for BackgroundingCaller {
    async fn call(&self, call: ToolCall, context: &CallContext) -> ToolResult {
        if !self.may_detach(&call, context) {
            return self.tool_caller.call(call, context).await;
        }
        let inner = &self.background.inner;
        let may_repeat = self.tool_caller.catalogue().may_repeat(&call, context);
        let now = inner.ledger.services.clock.now();
        let task = BackgroundTask::new(call.clone(), context, now, may_repeat);
        let Ok(live) = Live::create(task, LocalCall::new(context.phase.child())) else {
            return self.tool_caller.call(call, context).await;
        };
        let cancel = &live.local.cancel;
        let mut within = context.clone().with_cancel(cancel.clone()).with_run_key(Arc::clone(&live.id));
        within.deadline = Instant::now().checked_add(inner.settings.max_duration);
        within.phase = live.local.phase.clone();
        within.progress =
            Some(Arc::new(ProgressFanout { live: Arc::clone(&live), caller: context.progress.clone() }));
        let (name, call_id) = (call.name.clone(), call.call_id.clone());
        let tool_caller = Arc::clone(&self.tool_caller);
        // The call runs on the Tokio task of its caller while the caller waits, and ends with it.
        let mut work: CallFuture = Box::pin(async move { tool_caller.call(call, &within).await });
        // While the call is in the foreground, dropping this future cancels it.
        let mut guard = cancel.clone().drop_guard();
        // While a person is asked, the call has not started: its question stays in the foreground, and the time does
        // not count.
        let in_time = tokio::select! {
            biased;
            ended = wait_or_cancel(&mut work, context, &live) => Some(ended),
            () = live.local.phase.sleep_until(Instant::now() + self.after) => None,
        };
        let ended = if let Some(ended) = in_time {
            ended
        } else {
            guard = match inner.detach(&live, guard).await {
                Ok(status) => {
                    let work = tokio::spawn(work.in_current_span());
                    inner.follow(&live, work);
                    let status = json!(status.with_move_note(self.after));
                    return ToolResult::ok(call_id, name, status)
                        .with_note(ResultNote::BackgroundTask(live.id.to_string()));
                }
                // The limit of background calls is reached, so the call stays in the foreground.
                Err(guard) => guard,
            };
            wait_or_cancel(&mut work, context, &live).await
        };
        drop(guard);
        ended
    }

    async fn call_all(&self, calls: Vec<ToolCall>, context: &CallContext) -> Vec<ToolResult> {
        self.tool_caller.call_all(calls, context).await
    }

    fn catalogue(&self) -> &dyn Catalogue {
        self.tool_caller.catalogue()
    }

    fn results(&self) -> &dyn ResultStore {
        self.tool_caller.results()
    }
}

/// The future of a running call.
type CallFuture = Pin<Box<dyn Future<Output = ToolResult> + Send>>;

/// Waits for the end of a call, and cancels it if its caller is cancelled.
async fn wait_or_cancel(work: &mut CallFuture, context: &CallContext, live: &LiveCall) -> ToolResult {
    tokio::select! {
        biased;
        ended = &mut *work => return ended,
        () = context.cancel.cancelled() => live.local.cancel.cancel(),
    }
    work.await
}

impl BackgroundInner {
    /// Registers a running call as a background task. Returns the guard to its caller if that is not possible.
    async fn detach(&self, live: &Arc<LiveCall>, guard: DropGuard) -> Result<TaskStatus, DropGuard> {
        if self.ledger.services.tool_caller().is_err() {
            return Err(guard);
        }
        // It runs, or is about to, under a journal of its caller.
        live.update(|task| task.has_begun = true);
        match self.insert(live).await {
            Ok(status) => {
                guard.disarm();
                Ok(status)
            }
            Err(_) => Err(guard),
        }
    }
}

impl TaskStatus {
    /// Adds a note that explains the move to the background.
    fn with_move_note(self, time: Duration) -> Self {
        let seconds = time.as_secs_f64();
        let note = self.note.clone().unwrap_or_default();
        self.with_note(format!("it has taken {seconds} s and continues; {note}"))
    }
}

/// Forwards the progress of a call to its background task and to its caller.
struct ProgressFanout {
    live: Arc<LiveCall>,
    caller: Option<Arc<dyn ProgressListener>>,
}

impl ProgressListener for ProgressFanout {
    fn progress(&self, progress: &Progress) {
        self.live.progress(progress);
        if let Some(caller) = &self.caller {
            caller.progress(progress);
        }
    }
}
