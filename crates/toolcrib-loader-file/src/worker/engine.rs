//! From a call to the worker and back.

use std::sync::Arc;

use async_trait::async_trait;
use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use serde_json::{Map, Value};
use tokio::time::Instant;
use toolcrib_model::{ErrorKind, Tool, ToolError, ToolResult};
use toolcrib_policy::{Authorized, Call};
use toolcrib_port::{CallContext, Progress, ToolEngine};

use super::process::{Answer, Event, NotSent, Running, Worker};
use super::protocol::{Outgoing, OutgoingCall, ProgressMessage, printable};
use super::{WorkerModule, lock, requests};
use crate::command::unenforced;

/// How many requests of one call are under way at once. More of them wait.
pub const MAX_OPEN_REQUESTS: usize = 16;

/// How many reports of its progress a call may make. More of them are left out.
pub const MAX_PROGRESS_REPORTS: usize = 10_000;

/// How much of a report of progress is shown, in characters.
const MAX_PROGRESS_CHARS: usize = 2000;

const FIND_OUT: &str = "find out whether the call took effect before you repeat it";

/// What came of one worker's part in a call.
enum Attempt {
    Ended(Result<Value, ToolError>),
    /// The worker had ended before, for this reason.
    NotRead(Arc<str>),
}

impl WorkerModule {
    async fn run(&self, call: &Call, context: &CallContext) -> Result<Value, ToolError> {
        // A worker may end at any moment. A call that it did not read is made in the next one, but not for ever.
        match self.attempt(call, context).await? {
            Attempt::Ended(result) => return result,
            Attempt::NotRead(_) => {}
        }
        match self.attempt(call, context).await? {
            Attempt::Ended(result) => result,
            Attempt::NotRead(reason) => {
                let message = format!("the worker {} ended before it read the call: {reason}", self.label());
                Err(ToolError::new(ErrorKind::Unavailable, message))
            }
        }
    }

    async fn attempt(&self, call: &Call, context: &CallContext) -> Result<Attempt, ToolError> {
        let name = call.tool.name.name();
        let worker = self.worker().await?;
        self.check(&worker, name)?;
        let id = worker.next_id();
        let remaining = context.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let line = Outgoing::Call(OutgoingCall {
            id,
            tool: name,
            arguments: &call.arguments,
            context: self.facts(context),
            timeout_seconds: remaining.map(|remaining| remaining.as_secs_f64()),
        })
        .line()?;
        let running = match worker.send(id, line).await {
            Ok(running) => running,
            Err(NotSent::Lost(reason)) => return Ok(Attempt::NotRead(reason)),
            Err(NotSent::Busy) => {
                let message = format!(
                    "the worker {} has as many calls under way as it may; none was added",
                    self.label()
                );
                return Err(ToolError::new(ErrorKind::Overloaded, message));
            }
        };
        Ok(match follow(&worker, running, context).await {
            Ok(Answer::Result(result)) => Attempt::Ended(result),
            Ok(Answer::NotRead) => Attempt::NotRead(worker.lost().await),
            Ok(Answer::Tools(_)) => {
                let message = "the worker answered the call with a list of tools";
                Attempt::Ended(Err(ToolError::new(ErrorKind::ToolFailed, message)))
            }
            Err(reason) => Attempt::Ended(Err(self.lost(call, &reason))),
        })
    }

    /// Refuses a call of a tool that is not what it was when it was loaded: a worker that was replaced may have others.
    fn check(&self, worker: &Worker, name: &str) -> Result<(), ToolError> {
        let now = lock(&worker.tools).get(name).copied();
        let Some(now) = now else {
            let message = format!("the worker {} no longer has the tool `{name}`", self.label());
            return Err(ToolError::new(ErrorKind::Unavailable, message).with_retryable(false));
        };
        if self.known().tools.get(name).is_some_and(|loaded| *loaded != now) {
            let message = format!("the arguments of `{name}` are no longer those that it was loaded with");
            return Err(ToolError::new(ErrorKind::ToolChanged, message)
                .with_hint("look at the tool again before you call it"));
        }
        Ok(())
    }

    /// What the runtime knows of a call.
    fn facts(&self, context: &CallContext) -> Map<String, Value> {
        let text = |text: &Option<Arc<str>>| text.as_deref().map(Value::from);
        let facts = [
            ("session", Some(context.session.as_ref().into())),
            ("conversation", text(&context.conversation)),
            ("user", text(&context.user)),
            ("agent", text(&context.agent)),
            ("message", text(&context.message)),
            ("thread", text(&context.thread)),
            ("scope", (!context.scope.is_empty()).then(|| serde_json::json!(context.scope))),
            ("run_key", text(&context.run_key)),
            ("traceparent", text(&context.trace)),
            ("workspace", self.workspace.as_ref().map(|path| path.display().to_string().into())),
        ];
        facts.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
    }

    /// The error of a call that the worker took and did not answer.
    fn lost(&self, call: &Call, reason: &str) -> ToolError {
        let label = self.label();
        if call.tool.is_idempotent() {
            let message = format!("the worker {label} ended during the call: {reason}");
            return ToolError::new(ErrorKind::Unavailable, message);
        }
        let message = format!(
            "the worker {label} ended during the call, and whether the call took effect is not known; the next call \
             starts it again: {reason}"
        );
        ToolError::new(ErrorKind::OutcomeUnknown, message).with_hint(FIND_OUT)
    }
}

/// Waits for the answer to a call, and does on the way what its tool asks for. An error says why there is no answer.
async fn follow(worker: &Worker, mut running: Running, context: &CallContext) -> Result<Answer, Arc<str>> {
    let mut replies = FuturesUnordered::new();
    let mut reports = 0;
    loop {
        tokio::select! {
            biased;
            Some(event) = running.events.recv(), if replies.len() < MAX_OPEN_REQUESTS => match event {
                Event::Progress(progress) => {
                    reports += 1;
                    if reports <= MAX_PROGRESS_REPORTS {
                        report(progress, context);
                    }
                }
                Event::Request(request) => replies.push(async move {
                    if let Some(line) = requests::reply(request, context).await {
                        worker.tell(line).await;
                    }
                }),
            },
            Some(()) = replies.next() => {}
            answer = &mut running.answer => return running.end(answer),
        }
    }
}

fn report(progress: ProgressMessage, context: &CallContext) {
    if let Some(listener) = &context.progress {
        let ProgressMessage { done, total, message } = progress;
        let message = message.map(|message| printable(&message, MAX_PROGRESS_CHARS));
        listener.progress(&Progress { done, total, message });
    }
}

#[async_trait]
impl ToolEngine for WorkerModule {
    async fn invoke(&self, call: &Authorized<Call>, context: &CallContext) -> ToolResult {
        match self.run(call, context).await {
            Ok(value) => call.ok(value),
            Err(error) => call.failed(error),
        }
    }

    fn reports_progress(&self) -> bool {
        true
    }

    fn warning(&self, tool: &Tool) -> Option<String> {
        unenforced(tool)
    }

    async fn close(&self) {
        self.supervisor.close().await;
    }
}
