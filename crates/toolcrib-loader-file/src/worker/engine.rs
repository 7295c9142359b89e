//! The engine of worker modules: sends calls to the worker, and returns their results.

use std::sync::Arc;

use async_trait::async_trait;
use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use serde_json::{Map, Value};
use tokio::time::Instant;
use toolcrib_model::{ErrorKind, Tool, ToolError, ToolResult};
use toolcrib_policy::{Authorized, Call};
use toolcrib_port::{CallContext, Progress, ToolEngine};

use super::process::{CallEvent, PendingResponse, SendError, Worker, WorkerResponse};
use super::protocol::{Outgoing, OutgoingCall, ProgressMessage, printable};
use super::{WorkerModule, requests};
use crate::ProgramSandbox;

/// The largest number of concurrent requests of one call. Further requests wait.
const MAX_OPEN_REQUESTS: usize = 16;

/// The largest number of progress reports of one call. Further reports are dropped.
const MAX_PROGRESS_REPORTS: usize = 10_000;

/// The largest number of characters of a progress report.
const MAX_PROGRESS_CHARS: usize = 2000;

const FIND_OUT: &str = "find out whether the call took effect before you repeat it";

/// The outcome of a call in one worker.
enum CallAttempt {
    Completed(Result<Value, ToolError>),
    /// The worker ended before it read the call, for this reason.
    NotRead(Arc<str>),
}

impl WorkerModule {
    async fn run(&self, call: &Call, context: &CallContext) -> Result<Value, ToolError> {
        // A worker may end at any moment. A call that it did not read is repeated once in the next worker.
        match self.attempt(call, context).await? {
            CallAttempt::Completed(result) => return result,
            CallAttempt::NotRead(_) => {}
        }
        match self.attempt(call, context).await? {
            CallAttempt::Completed(result) => result,
            CallAttempt::NotRead(reason) => {
                let message = format!("the worker {} ended before it read the call: {reason}", self.label());
                Err(ToolError::new(ErrorKind::Unavailable, message))
            }
        }
    }

    async fn attempt(&self, call: &Call, context: &CallContext) -> Result<CallAttempt, ToolError> {
        let name = call.tool.name.name();
        let worker = self.worker().await?;
        self.check(&worker, name)?;
        let id = worker.next_id();
        let remaining = context.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let line = Outgoing::Call(OutgoingCall {
            id,
            tool: name,
            arguments: &call.arguments,
            context: self.call_context(context),
            timeout_seconds: remaining.map(|remaining| remaining.as_secs_f64()),
        })
        .line()?;
        let response = match worker.send(id, line).await {
            Ok(response) => response,
            Err(SendError::Lost(reason)) => return Ok(CallAttempt::NotRead(reason)),
            Err(SendError::Busy) => {
                let message = format!(
                    "the worker {} has as many calls under way as it may; none was added",
                    self.label()
                );
                return Err(ToolError::new(ErrorKind::Overloaded, message));
            }
        };
        Ok(match follow(&worker, response, context).await {
            Ok(WorkerResponse::Result(result)) => CallAttempt::Completed(result),
            Ok(WorkerResponse::NotRead) => CallAttempt::NotRead(worker.kill_and_wait().await),
            Ok(WorkerResponse::Tools(_)) => {
                let message = "the worker answered the call with a list of tools";
                CallAttempt::Completed(Err(ToolError::new(ErrorKind::ToolFailed, message)))
            }
            Err(reason) => CallAttempt::Completed(Err(self.outcome_error(call, &reason))),
        })
    }

    /// Rejects a call of a tool that has changed since it was loaded: the replacement of a worker may have other tools.
    fn check(&self, worker: &Worker, name: &str) -> Result<(), ToolError> {
        let now = worker.tools.lock().get(name).copied();
        let Some(now) = now else {
            let message = format!("the worker {} no longer has the tool `{name}`", self.label());
            return Err(ToolError::new(ErrorKind::Unavailable, message).with_retryable(false));
        };
        if self.known.lock().tools.get(name).is_some_and(|loaded| *loaded != now) {
            let message = format!("the arguments of `{name}` are no longer those that it was loaded with");
            return Err(ToolError::new(ErrorKind::ToolChanged, message)
                .with_hint("look at the tool again before you call it"));
        }
        Ok(())
    }

    /// Returns the context of a call for the worker.
    fn call_context(&self, context: &CallContext) -> Map<String, Value> {
        let text = |text: &Option<Arc<str>>| text.as_deref().map(Value::from);
        let call_context = [
            ("session", Some(context.session.as_ref().into())),
            ("conversation", text(&context.conversation)),
            ("user", text(&context.user)),
            ("agent", text(&context.agent)),
            ("message", text(&context.message)),
            ("thread", text(&context.thread)),
            ("scope", (!context.scope.is_empty()).then(|| serde_json::json!(context.scope))),
            ("run_key", text(&context.run_key)),
            ("traceparent", text(&context.trace)),
            ("workspace", self.settings.workspace_text().map(Into::into)),
        ];
        call_context.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
    }

    /// Returns the error of a call that the worker accepted and did not answer.
    fn outcome_error(&self, call: &Call, reason: &str) -> ToolError {
        let label = self.label();
        if call.tool.traits().idempotent {
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

/// Waits for the result of a call, and serves the requests of its tool. The error is the reason that there is no
/// result.
async fn follow(
    worker: &Worker,
    mut response: PendingResponse,
    context: &CallContext,
) -> Result<WorkerResponse, Arc<str>> {
    let mut replies = FuturesUnordered::new();
    let mut reports = 0;
    loop {
        tokio::select! {
            biased;
            Some(event) = response.events.recv(), if replies.len() < MAX_OPEN_REQUESTS => match event {
                CallEvent::Progress(progress) => {
                    reports += 1;
                    if reports <= MAX_PROGRESS_REPORTS {
                        report(progress, context);
                    }
                }
                CallEvent::Request(request) => replies.push(async move {
                    if let Some(line) = requests::reply(request, context).await {
                        worker.send_without_response(line).await;
                    }
                }),
            },
            Some(()) = replies.next() => {}
            answer = &mut response.answer => return response.end(answer),
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
        call.outcome(self.run(call, context).await)
    }

    fn reports_progress(&self) -> bool {
        true
    }

    fn warning(&self, tool: &Tool) -> Option<String> {
        ProgramSandbox::warning_for_worker(self.settings.sandbox.as_ref(), tool)
    }

    async fn close(&self) {
        self.supervisor.close().await;
    }
}
