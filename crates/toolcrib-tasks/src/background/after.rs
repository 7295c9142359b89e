//! Calls that take long and go on in the background.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::json;
use tokio::time::Instant;
use tokio_util::sync::DropGuard;
use toolcrib_model::{Tool, ToolCall, ToolResult};
use toolcrib_policy::RUNTIME_NAMESPACE;
use toolcrib_port::{CallContext, Progress, ProgressListener, ToolCaller};
use tracing::Instrument as _;

use super::table::Live;
use super::task::Task;
use super::{Background, Inner};
use crate::id::random_id;

/// The tools of the runtime that only forward calls. All others of its own answer when they are to.
const FORWARDING: [&str; 2] = ["execute_tool", "run_parallel"];

/// The metadata of a result that says under which id its call goes on in the background.
pub const MOVED: &str = "background_task";

/// An entrance that waits no longer for a call than it is told to: what takes longer goes on in the background, and
/// its caller gets the id by which it is known there.
pub struct Patient {
    entrance: Arc<dyn ToolCaller>,
    background: Background,
    after: Duration,
}

impl Patient {
    /// Waits so long for calls that go in by this entrance.
    pub fn new(entrance: Arc<dyn ToolCaller>, background: Background, after: Duration) -> Self {
        Self { entrance, background, after }
    }

    /// Whether a call may go on without whoever made it.
    fn may_move(&self, call: &ToolCall, context: &CallContext) -> bool {
        let is_movable = |tool: &Arc<Tool>| {
            tool.name.namespace() != RUNTIME_NAMESPACE || FORWARDING.contains(&tool.name.name())
        };
        self.entrance.find_tools(&call.name, context).is_ok_and(|tools| tools.iter().all(is_movable))
    }
}

#[async_trait]
impl ToolCaller for Patient {
    async fn call(&self, call: ToolCall, context: &CallContext) -> ToolResult {
        let id = random_id("task");
        let Some(id) = id.ok().filter(|_| self.may_move(&call, context)) else {
            return self.entrance.call(call, context).await;
        };
        let inner = &self.background.inner;
        let may_repeat = self.entrance.may_repeat(&call, context);
        let task = Task::begun(call.clone(), context, inner.services.clock.now(), may_repeat);
        let live = Live::new(task, context.phase.child());
        let mut within = context.clone().with_cancel(live.cancel.clone()).with_run_key(id.as_str());
        within.deadline = Instant::now().checked_add(inner.settings.max_duration);
        within.phase = live.phase.clone();
        within.progress = Some(Arc::new(Both { live: live.clone(), caller: context.progress.clone() }));
        let (name, call_id) = (call.name.clone(), call.call_id.clone());
        let entrance = Arc::clone(&self.entrance);
        // It stays on the task of whoever made it as long as they wait: by that it is known where its questions are put.
        let mut work: Work = Box::pin(async move { entrance.call(call, &within).await });
        // Whoever gives up the call ends it, as long as it is theirs.
        let mut guard = live.cancel.clone().drop_guard();
        // While a person is asked, the call has not begun: its question stays in the foreground, and the time does not count.
        let in_time = tokio::select! {
            biased;
            ended = end_of(&mut work, context, &live) => Some(ended),
            () = live.phase.sleep_until(Instant::now() + self.after) => None,
        };
        let ended = if let Some(ended) = in_time {
            ended
        } else {
            guard = match inner.adopt(&id, &live, guard).await {
                Ok(told) => {
                    let work = tokio::spawn(work.in_current_span());
                    Arc::clone(inner).follow(id.clone(), live, work);
                    let told = json!(told.after(self.after));
                    return ToolResult::ok(call_id, name, told).with_metadata(MOVED, id);
                }
                // There is no room for it: it is waited for as it would have been without.
                Err(guard) => guard,
            };
            end_of(&mut work, context, &live).await
        };
        drop(guard);
        ended
    }

    async fn call_all(&self, calls: Vec<ToolCall>, context: &CallContext) -> Vec<ToolResult> {
        self.entrance.call_all(calls, context).await
    }

    fn inner(&self) -> Option<&dyn ToolCaller> {
        Some(self.entrance.as_ref())
    }
}

/// A call that is under way.
type Work = Pin<Box<dyn Future<Output = ToolResult> + Send>>;

/// Waits for the end of a call, which is cancelled where its caller gives up.
async fn end_of(work: &mut Work, context: &CallContext, live: &Live) -> ToolResult {
    tokio::select! {
        biased;
        ended = &mut *work => return ended,
        () = context.cancel.cancelled() => live.cancel.cancel(),
    }
    work.await
}

impl Inner {
    /// Takes over a call that is under way. Where there is no room for it, it stays with whoever made it.
    async fn adopt(&self, id: &str, live: &Live, guard: DropGuard) -> Result<super::TaskStatus, DropGuard> {
        if self.services.entrance().is_err() {
            return Err(guard);
        }
        match self.begin(id, live).await {
            Ok(status) => {
                guard.disarm();
                Ok(status)
            }
            Err(_) => Err(guard),
        }
    }
}

impl super::TaskStatus {
    /// Says why it is in the background.
    fn after(self, time: Duration) -> Self {
        let seconds = time.as_secs_f64();
        let note = self.note.clone().unwrap_or_default();
        self.with_note(format!("it has taken {seconds} s and goes on; {note}"))
    }
}

/// Tells both of the progress of a call.
struct Both {
    live: Live,
    caller: Option<Arc<dyn ProgressListener>>,
}

impl ProgressListener for Both {
    fn progress(&self, progress: &Progress) {
        self.live.progressed(progress);
        if let Some(caller) = &self.caller {
            caller.progress(progress);
        }
    }
}
