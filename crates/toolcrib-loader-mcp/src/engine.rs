//! From an authorized call to the server and back.

use std::sync::Arc;

use async_trait::async_trait;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, CustomRequest, ElicitationAction, ErrorCode,
    ErrorData, GetMeta as _, InputRequiredResult, InputResponses, ServerResult,
};
use serde_json::{Value, json};
use toolcrib_model::{ErrorKind, ToolError, ToolResult};
use toolcrib_policy::{Authorized, Call};
use toolcrib_port::{Approver, CallContext, ToolEngine};
use tracing::Span;

use crate::McpConnection;
use crate::connection::{Answer, NoAnswer, Stale};
use crate::elicitation::{OnCall, nobody, unfit};
use crate::error::Error;
use crate::extras::{self, Extra};
use crate::mirror::Mirrored;
use crate::result;
use crate::session::Fault;
use crate::span;
use crate::task::{Ended, Task};
use crate::text::{MAX_ERROR_CHARS, clean};

/// What the run of a task is known by, in the `_meta` of its call: the same when the call is made again after a crash.
const RUN_KEY: &str = "toolcrib/run-key";

/// How often a server may ask for the same call again, with a state of its own, with answers of the user, or both.
const MAX_ROUNDS: usize = 8;

/// What to do about a call whose end is not known.
const FIND_OUT: &str = "find out whether the call took effect before you repeat it";

/// What a call hands back of what the server said to the last one.
#[derive(Clone, Default)]
struct Round {
    state: Option<String>,
    answers: Option<InputResponses>,
}

impl Round {
    /// The round after a result that asks for something.
    async fn after(asks: InputRequiredResult, desk: &OnCall<'_>) -> Result<Self, ToolError> {
        let InputRequiredResult { input_requests, request_state: state, .. } = asks;
        let requests = input_requests.unwrap_or_default();
        if requests.is_empty() && state.is_none() {
            return Err(nobody());
        }
        let answers = if requests.is_empty() { None } else { Some(desk.answers(requests).await?) };
        Ok(Self { state, answers })
    }

    /// Whether the server has looked at the call before.
    fn has_begun(&self) -> bool {
        self.state.is_some() || self.answers.is_some()
    }
}

fn endless() -> ToolError {
    let message = format!("the server asked {MAX_ROUNDS} times to be called again, and gave no result");
    ToolError::new(ErrorKind::ToolFailed, message)
}

/// Calls the tools of a server.
pub struct McpEngine {
    connection: McpConnection,
}

impl McpEngine {
    /// The engine of the server behind this connection.
    pub fn new(connection: McpConnection) -> Self {
        Self { connection }
    }

    /// Whether there is a conversation with the server.
    pub(crate) fn is_open(&self) -> bool {
        self.connection.is_open()
    }

    pub(crate) async fn call(&self, call: &Call, context: &CallContext) -> Result<Value, ToolError> {
        if let Some(extra) = Extra::of(&call.tool) {
            return self.extra(call, extra, context).await;
        }
        span::describe(&Span::current(), "tools/call", self.connection.source());
        let failed = |fault| self.failure(call, fault);
        let listener = context.progress.as_ref();
        let desk = self.connection.desk().begin(context);
        let mut round = Round::default();
        for _ in 0..MAX_ROUNDS {
            let outcome =
                self.connection.call(&call.tool, || request(call, round.clone(), context), listener).await;
            let outcome = match outcome {
                Err(NoAnswer::Stale(stale)) => return Err(self.stale(call, stale)),
                Err(NoAnswer::Fault(fault)) => Err(fault),
                Ok(answer) => Ok(answer),
            };
            let Answer { result, session } = match outcome {
                Err(Fault::Rpc(error)) if is_for_tasks_only(&error) && !round.has_begun() => {
                    return self.call_as_task(call, context, &desk, error).await;
                }
                // It has refused the call, until the user has opened a page.
                Err(Fault::Rpc(error))
                    if result::wants_pages(&error) && self.connection.desk().is_attended() =>
                {
                    self.open_pages(call, &desk, error).await?;
                    continue;
                }
                // What it did before it handed back a state is not undone.
                Err(fault) if round.has_begun() && !matches!(fault, Fault::Rpc(_) | Fault::Lost { .. }) => {
                    return Err(self.unfinished(fault));
                }
                outcome => outcome.map_err(failed)?,
            };
            session.note_service();
            match result {
                ServerResult::InputRequiredResult(asks) => round = Round::after(asks, &desk).await?,
                ServerResult::CreateTaskResult(created) => {
                    return self.finish(Task::created(created, session), context, &desk).await;
                }
                result => return read(result, call.tool.name.namespace()),
            }
        }
        Err(endless())
    }

    /// Makes the call anew, of a tool that runs only as a task. `refusal` is what the server said before.
    async fn call_as_task(
        &self,
        call: &Call,
        context: &CallContext,
        desk: &OnCall<'_>,
        refusal: ErrorData,
    ) -> Result<Value, ToolError> {
        let listener = context.progress.as_ref();
        match self.connection.call(&call.tool, || as_task(call, context), listener).await {
            Ok(Answer { result, session }) => match Task::asked_for(&result, session) {
                Some(task) => self.finish(task, context, desk).await,
                // It has run without a task all the same.
                None => read(result, call.tool.name.namespace()),
            },
            // What the server says of a call in the usual form tells more.
            Err(NoAnswer::Fault(Fault::Rpc(_))) => Err(self.failure(call, Fault::Rpc(refusal))),
            Err(NoAnswer::Fault(fault)) => Err(self.failure(call, fault)),
            Err(NoAnswer::Stale(stale)) => Err(self.stale(call, stale)),
        }
    }

    /// Has the user open the pages that an error names. The error stands where there are none, or one is not opened.
    async fn open_pages(&self, call: &Call, desk: &OnCall<'_>, error: ErrorData) -> Result<(), ToolError> {
        let pages = result::pages(&error);
        let mut is_open = !pages.is_empty();
        for page in &pages {
            is_open = is_open && desk.answer(None, page).await?.action == ElicitationAction::Accept;
        }
        if is_open { Ok(()) } else { Err(self.failure(call, Fault::Rpc(error))) }
    }

    /// Reads what a server has besides its tools.
    pub(crate) async fn extra(
        &self,
        call: &Call,
        extra: Extra,
        context: &CallContext,
    ) -> Result<Value, ToolError> {
        span::describe(&Span::current(), extra.method(), self.connection.source());
        let desk = self.connection.desk().begin(context);
        let namespace = call.tool.name.namespace();
        let mut round = Round::default();
        for _ in 0..MAX_ROUNDS {
            let request = || {
                let Round { state, answers } = round.clone();
                extra.request(&call.arguments, namespace, state, answers)
            };
            let answer = self.connection.request(request, None).await;
            let answer = answer.map_err(|fault| self.failure(call, fault))?;
            answer.session.note_service();
            match answer.result {
                ServerResult::InputRequiredResult(asks) => round = Round::after(asks, &desk).await?,
                result => {
                    return extras::result(result, namespace).ok_or_else(|| {
                        let message = format!("the server answered `{}` with something else", extra.method());
                        ToolError::new(ErrorKind::ToolFailed, message)
                    });
                }
            }
        }
        Err(endless())
    }

    fn stale(&self, call: &Call, stale: Stale) -> ToolError {
        let (tool, target) = (call.tool.name.dotted(), self.connection.source().target());
        match stale {
            Stale::NoServer(error) => no_server(&error),
            Stale::Unlisted(reason) => unavailable(reason),
            Stale::Gone => {
                let message = format!("MCP server `{target}` no longer has the tool `{tool}`");
                ToolError::new(ErrorKind::ToolChanged, message).with_hint("search for another tool")
            }
            Stale::Changed => {
                let message = format!(
                    "MCP server `{target}` has changed the tool `{tool}` since it was loaded, and the call was not sent"
                );
                ToolError::new(ErrorKind::ToolChanged, message).with_hint(
                    "look at the tool again before you call it; it may be gone until a person approves it",
                )
            }
        }
    }

    /// Waits for the end of a task.
    async fn finish(&self, task: Task, context: &CallContext, desk: &OnCall<'_>) -> Result<Value, ToolError> {
        let ended = task.follow(&self.connection, context.progress.as_ref(), desk).await;
        match ended.map_err(|fault| self.unfinished(fault))? {
            Ended::Completed(result) => read(*result, &self.connection.source().namespace),
            Ended::Failed(error) => {
                let said = error.get("message").and_then(Value::as_str).unwrap_or("no reason given");
                let message = format!("the task of the call failed: {}", clean(said, MAX_ERROR_CHARS));
                Err(ToolError::new(ErrorKind::ToolFailed, message))
            }
            Ended::Cancelled => {
                Err(ToolError::new(ErrorKind::ToolFailed, "the server gave up the task of the call")
                    .with_hint(FIND_OUT))
            }
            Ended::InputRequired(error) => Err(error),
            Ended::Unreadable => Err(ToolError::new(
                ErrorKind::OutcomeUnknown,
                "the server runs the call as a task, and what it says of the task cannot be read",
            )
            .with_hint(FIND_OUT)),
        }
    }

    /// A call that the server took, and of whose end it says nothing.
    fn unfinished(&self, fault: Fault) -> ToolError {
        let (target, reason) = (self.connection.source().target(), clean(&fault.reason(), MAX_ERROR_CHARS));
        let message =
            format!("MCP server `{target}` took the call, and what became of it is not known: {reason}");
        ToolError::new(ErrorKind::OutcomeUnknown, message).with_hint(FIND_OUT)
    }

    fn failure(&self, call: &Call, fault: Fault) -> ToolError {
        let target = self.connection.source().target();
        match fault {
            Fault::NoServer(error) => no_server(&error),
            Fault::NotSent(reason) => unavailable(format!("MCP server `{target}` cannot be reached: {reason}")),
            Fault::SessionExpired(reason) => unavailable(format!(
                "MCP server `{target}` turned the call away, since it does not know the session any more ({reason}); it \
                 was not sent again, because the tool does not say that it is idempotent"
            ))
            .with_hint("call again if the tool may run twice; a new session is open"),
            Fault::TurnedAway { kind, reason } => {
                ToolError::new(kind, format!("MCP server `{target}` refuses the call: {reason}"))
            }
            Fault::Unreadable(reason) => ToolError::new(
                ErrorKind::OutcomeUnknown,
                format!("MCP server `{target}` has answered the call, and {reason}"),
            )
            .with_hint(FIND_OUT),
            Fault::Lost { how, said } => ToolError::new(
                ErrorKind::OutcomeUnknown,
                format!(
                    "MCP server `{target}` {how}, and whether the call took effect is not known; the next call \
                     starts the server again{said}"
                ),
            )
            .with_hint(FIND_OUT),
            Fault::Rpc(error) => {
                Span::current().record("rpc.response.status_code", error.code.0.to_string());
                result::rpc_error(call.tool.name.name(), &error)
            }
        }
    }
}

#[async_trait]
impl ToolEngine for McpEngine {
    async fn invoke(&self, call: &Authorized<Call>, context: &CallContext) -> ToolResult {
        let outcome = tokio::select! {
            biased;
            () = context.cancel.cancelled() => {
                Err(ToolError::new(ErrorKind::Cancelled, "the call was given up, and the server was told"))
            }
            outcome = self.call(call, context) => outcome,
        };
        match outcome {
            Ok(value) => call.ok(value),
            Err(error) => call.failed(error),
        }
    }

    fn reports_progress(&self) -> bool {
        true
    }

    fn attend(&self, approver: &Arc<dyn Approver>) {
        let source = self.connection.source();
        self.connection.desk().attend(Arc::clone(approver), &source.namespace);
    }

    async fn close(&self) {
        self.connection.close().await;
    }
}

fn request(call: &Call, round: Round, context: &CallContext) -> ClientRequest {
    let mut params =
        CallToolRequestParams::new(call.tool.name.name().to_owned()).with_arguments(call.arguments.clone());
    params.request_state = round.state;
    params.input_responses = round.answers;
    let mut request = CallToolRequest::new(params);
    request.extensions.insert(Mirrored::of(&call.tool.parameters, &call.arguments));
    tagged(ClientRequest::CallToolRequest(request), context)
}

/// The call as revision 2025-11-25 has it for tools that only run as tasks.
fn as_task(call: &Call, context: &CallContext) -> ClientRequest {
    let params = json!({"name": call.tool.name.name(), "arguments": call.arguments, "task": {}});
    tagged(ClientRequest::CustomRequest(CustomRequest::new("tools/call", Some(params))), context)
}

/// Says what the call is part of: its trace, and the run of a task that it is.
fn tagged(mut request: ClientRequest, context: &CallContext) -> ClientRequest {
    if let Some(trace) = context.trace.as_deref() {
        request.get_meta_mut().set_traceparent(trace);
    }
    if let Some(key) = context.run_key.as_deref() {
        request.get_meta_mut().insert(RUN_KEY.to_owned(), key.into());
    }
    request
}

/// Whether a call was turned away because the tool only runs as a task. Nothing has run then.
fn is_for_tasks_only(error: &ErrorData) -> bool {
    error.code == ErrorCode::METHOD_NOT_FOUND && error.message.to_lowercase().contains("task")
}

fn read(answer: ServerResult, namespace: &str) -> Result<Value, ToolError> {
    match answer {
        ServerResult::CallToolResult(result) => result::convert(result, namespace),
        ServerResult::InputRequiredResult(_) => Err(nobody()),
        // rmcp could not read it.
        ServerResult::CustomResult(result)
            if result.0.get("resultType") == Some(&json!("input_required")) =>
        {
            Err(unfit("it is none that the protocol has"))
        }
        _ => Err(ToolError::new(
            ErrorKind::OutcomeUnknown,
            "the server answered the call with something that is not a tool result",
        )),
    }
}

fn no_server(error: &Error) -> ToolError {
    let unavailable = unavailable(error.to_string());
    // A model that tries again changes nothing about that.
    if error.needs_login() { unavailable.with_retryable(false) } else { unavailable }
}

fn unavailable(message: String) -> ToolError {
    ToolError::new(ErrorKind::Unavailable, message)
}
