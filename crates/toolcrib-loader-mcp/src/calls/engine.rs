//! The engine: sends authorized calls to the server, and returns their results.

use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, CustomRequest, ElicitationAction, ErrorCode,
    ErrorData, GetMeta as _, InputRequiredResult, InputResponses, ServerResult,
};
use serde_json::{Value, json};
use tokio::sync::watch;
use toolcrib_model::{ClientContent, ErrorKind, ToolError, ToolResult};
use toolcrib_policy::{Authorized, Call};
use toolcrib_port::{CallContext, ToolEngine};
use tracing::Span;

use crate::McpConnection;
use crate::calls::response::{self, Response};
use crate::calls::result_conversion;
use crate::calls::task::{Task, TaskOutcome};
use crate::connection::session::RequestError;
use crate::connection::{CallError, ServerResponse, StaleToolError};
use crate::elicitation::{CallElicitation, invalid_question, no_user};
use crate::error::Error;
use crate::span;
use crate::text::{MAX_ERROR_CHARS, clean};
use crate::tools::resources_and_prompts::{self, ServerMethod};
use crate::transport::argument_headers::ArgumentHeaders;

/// The key in the `_meta` of a call that identifies the run of a background task. It is the same when the call is
/// repeated after a crash.
const RUN_KEY: &str = "toolcrib/run-key";

/// The largest number of times that a server may request the same call again, with a request state, with answers of the
/// user, or with both.
const MAX_ROUNDS: usize = 8;

/// The hint for calls whose outcome is unknown.
const CHECK_OUTCOME: &str = "find out whether the call took effect before you repeat it";

/// The state and the answers that the next attempt of a call passes back to the server.
#[derive(Clone, Default)]
struct Round {
    state: Option<String>,
    answers: Option<InputResponses>,
}

impl Round {
    /// Returns the round that follows a result with input requests.
    async fn after(asks: InputRequiredResult, broker: &CallElicitation<'_>) -> Result<Self, ToolError> {
        let InputRequiredResult { input_requests, request_state: state, .. } = asks;
        let requests = input_requests.unwrap_or_default();
        if requests.is_empty() && state.is_none() {
            return Err(no_user());
        }
        let answers = if requests.is_empty() { None } else { Some(broker.answers(requests).await?) };
        Ok(Self { state, answers })
    }

    /// Returns true if the server has processed the call before.
    fn has_begun(&self) -> bool {
        self.state.is_some() || self.answers.is_some()
    }
}

fn too_many_rounds() -> ToolError {
    let message = format!("the server asked {MAX_ROUNDS} times to be called again, and gave no result");
    ToolError::new(ErrorKind::ToolFailed, message)
}

/// An engine that calls the tools of a server.
pub struct McpEngine {
    connection: McpConnection,
    /// True if the last call failed because no user has logged in.
    needs_login: AtomicBool,
}

impl McpEngine {
    /// Creates the engine for the server of this connection.
    pub fn new(connection: McpConnection) -> Self {
        Self { connection, needs_login: AtomicBool::new(false) }
    }

    /// Returns true once if a call failed because no user has logged in.
    pub(crate) fn take_needs_login(&self) -> bool {
        self.needs_login.swap(false, Ordering::Relaxed)
    }

    /// Returns true if a session with the server is open.
    pub(crate) fn is_open(&self) -> bool {
        self.connection.is_open()
    }

    /// Calls a tool, or a method of the protocol that a tool represents.
    pub(crate) async fn call(&self, call: &Call, context: &CallContext) -> Result<Response, ToolError> {
        if let Some(method) = ServerMethod::of(&call.tool) {
            return self.call_method(call, method, context).await;
        }
        span::describe(&Span::current(), "tools/call", self.connection.source());
        let failed = |fault| self.request_error(call, fault);
        let listener = context.progress.as_ref();
        let broker = self.connection.broker().begin_call(context);
        let mut round = Round::default();
        for _ in 0..MAX_ROUNDS {
            let outcome =
                self.connection.call(&call.tool, || request(call, round.clone(), context), listener).await;
            let outcome = match outcome {
                Err(CallError::Stale(stale)) => return Err(self.stale_error(call, stale)),
                Err(CallError::Request(fault)) => Err(fault),
                Ok(answer) => Ok(answer),
            };
            let ServerResponse { result, session } = match outcome {
                Err(RequestError::Rpc(error)) if requires_task(&error) && !round.has_begun() => {
                    return self.call_as_task(call, context, &broker, error).await;
                }
                // The server rejected the call until the user has opened a page.
                Err(RequestError::Rpc(error))
                    if result_conversion::wants_pages(&error) && self.connection.broker().has_user() =>
                {
                    self.open_pages(call, &broker, error).await?;
                    continue;
                }
                // The effects that preceded the request state are not undone.
                Err(fault)
                    if round.has_begun()
                        && !matches!(fault, RequestError::Rpc(_) | RequestError::Lost { .. }) =>
                {
                    return Err(self.outcome_unknown(fault));
                }
                outcome => outcome.map_err(failed)?,
            };
            session.note_answered_call();
            match result {
                ServerResult::InputRequiredResult(asks) => round = Round::after(asks, &broker).await?,
                ServerResult::CreateTaskResult(created) => {
                    return self.wait_for_task(Task::created(created, session), call, context, &broker).await;
                }
                result => return read_result(result, call),
            }
        }
        Err(too_many_rounds())
    }

    /// Repeats the call for a tool that runs only as a task. `refusal` is the server's response to the plain call.
    async fn call_as_task(
        &self,
        call: &Call,
        context: &CallContext,
        broker: &CallElicitation<'_>,
        refusal: ErrorData,
    ) -> Result<Response, ToolError> {
        let listener = context.progress.as_ref();
        match self.connection.call(&call.tool, || as_task(call, context), listener).await {
            Ok(ServerResponse { result, session }) => match Task::requested(&result, session) {
                Some(task) => self.wait_for_task(task, call, context, broker).await,
                // The server ran it without a task.
                None => read_result(result, call),
            },
            // The server's response to the plain call says more.
            Err(CallError::Request(RequestError::Rpc(_))) => {
                Err(self.request_error(call, RequestError::Rpc(refusal)))
            }
            Err(CallError::Request(fault)) => Err(self.request_error(call, fault)),
            Err(CallError::Stale(stale)) => Err(self.stale_error(call, stale)),
        }
    }

    /// Has the user open the pages that an error names. The error is returned if it names none, or if one is not
    /// opened.
    async fn open_pages(
        &self,
        call: &Call,
        broker: &CallElicitation<'_>,
        error: ErrorData,
    ) -> Result<(), ToolError> {
        let pages = result_conversion::pages(&error);
        let mut is_open = !pages.is_empty();
        for page in &pages {
            is_open = is_open && broker.answer(None, page).await?.action == ElicitationAction::Accept;
        }
        if is_open { Ok(()) } else { Err(self.request_error(call, RequestError::Rpc(error))) }
    }

    /// Calls one of the methods for resources, prompts and completion.
    pub(crate) async fn call_method(
        &self,
        call: &Call,
        method: ServerMethod,
        context: &CallContext,
    ) -> Result<Response, ToolError> {
        span::describe(&Span::current(), method.as_str(), self.connection.source());
        let broker = self.connection.broker().begin_call(context);
        let namespace = call.tool.name.namespace();
        let mut round = Round::default();
        for _ in 0..MAX_ROUNDS {
            let request = || {
                let Round { state, answers } = round.clone();
                method.request(&call.arguments, namespace, state, answers)
            };
            let answer = self.connection.request(request, None).await;
            let answer = answer.map_err(|fault| self.request_error(call, fault))?;
            answer.session.note_answered_call();
            match answer.result {
                ServerResult::InputRequiredResult(asks) => round = Round::after(asks, &broker).await?,
                result => {
                    let client_content = match &result {
                        ServerResult::ReadResourceResult(read) => response::of_resource(read),
                        _ => ClientContent::default(),
                    };
                    let value = resources_and_prompts::result(result, namespace).ok_or_else(|| {
                        let message = format!(
                            "the server answered `{}` with something other than its result",
                            method.as_str()
                        );
                        ToolError::new(ErrorKind::ToolFailed, message)
                    })?;
                    return Ok(Response { value, client_content });
                }
            }
        }
        Err(too_many_rounds())
    }

    fn stale_error(&self, call: &Call, stale: StaleToolError) -> ToolError {
        let (tool, target) = (call.tool.name.dotted(), self.connection.source().target());
        match stale {
            StaleToolError::NoServer(error) => self.connection_error(&error),
            StaleToolError::Unlisted(reason) => unavailable(reason),
            StaleToolError::Removed => {
                let message = format!("MCP server `{target}` no longer has the tool `{tool}`");
                ToolError::new(ErrorKind::ToolChanged, message).with_hint("search for another tool")
            }
            StaleToolError::Changed => {
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
    async fn wait_for_task(
        &self,
        task: Task,
        call: &Call,
        context: &CallContext,
        broker: &CallElicitation<'_>,
    ) -> Result<Response, ToolError> {
        let ended = task.follow(&self.connection, context.progress.as_ref(), broker).await;
        match ended.map_err(|fault| self.outcome_unknown(fault))? {
            TaskOutcome::Completed(result) => read_result(*result, call),
            TaskOutcome::Failed(error) => {
                let stderr = error.get("message").and_then(Value::as_str).unwrap_or("no reason given");
                let message = format!("the task of the call failed: {}", clean(stderr, MAX_ERROR_CHARS));
                Err(ToolError::new(ErrorKind::ToolFailed, message))
            }
            TaskOutcome::Cancelled => {
                Err(ToolError::new(ErrorKind::ToolFailed, "the server gave up the task of the call")
                    .with_hint(CHECK_OUTCOME))
            }
            TaskOutcome::InputRequired(error) => Err(error),
            TaskOutcome::Unreadable => Err(ToolError::new(
                ErrorKind::OutcomeUnknown,
                "the server runs the call as a task, and what it says of the task cannot be read",
            )
            .with_hint(CHECK_OUTCOME)),
        }
    }

    /// Returns the error for a call that the server accepted and whose outcome is unknown.
    fn outcome_unknown(&self, fault: RequestError) -> ToolError {
        let (target, reason) = (self.connection.source().target(), clean(&fault.reason(), MAX_ERROR_CHARS));
        let message =
            format!("MCP server `{target}` accepted the call, and its outcome is unknown: {reason}");
        ToolError::new(ErrorKind::OutcomeUnknown, message).with_hint(CHECK_OUTCOME)
    }

    fn connection_error(&self, error: &Error) -> ToolError {
        let unavailable = unavailable(error.to_string());
        if !error.needs_login() {
            return unavailable;
        }
        self.needs_login.store(true, Ordering::Relaxed);
        // A retry by the model does not help without a login.
        unavailable.with_retryable(false)
    }

    fn request_error(&self, call: &Call, fault: RequestError) -> ToolError {
        let target = self.connection.source().target();
        match fault {
            RequestError::NoServer(error) => self.connection_error(&error),
            RequestError::NotSent(reason) => unavailable(format!("MCP server `{target}` cannot be reached: {reason}")),
            RequestError::SessionExpired(reason) => unavailable(format!(
                "MCP server `{target}` rejected the call, since it does not know the session any more ({reason}); it \
                 was not sent again, because the tool does not say that it is idempotent"
            ))
            .with_hint("call again if the tool may run twice; a new session is open"),
            RequestError::Rejected { kind, reason } => {
                ToolError::new(kind, format!("MCP server `{target}` refuses the call: {reason}"))
            }
            RequestError::Unreadable(reason) => ToolError::new(
                ErrorKind::OutcomeUnknown,
                format!("MCP server `{target}` has answered the call, and {reason}"),
            )
            .with_hint(CHECK_OUTCOME),
            RequestError::Lost { how, stderr } => ToolError::new(
                ErrorKind::OutcomeUnknown,
                format!(
                    "MCP server `{target}` {how}, and whether the call took effect is not known; the next call \
                     starts the server again{stderr}"
                ),
            )
            .with_hint(CHECK_OUTCOME),
            RequestError::Rpc(error) => {
                Span::current().record("rpc.response.status_code", error.code.0.to_string());
                result_conversion::rpc_error(call.tool.name.name(), &error)
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
                Err(ToolError::new(ErrorKind::Cancelled, "the call was cancelled, and the server was notified"))
            }
            outcome = self.call(call, context) => outcome,
        };
        match outcome {
            Ok(Response { value, client_content }) => {
                let mut result = call.ok(value);
                Response::annotate(client_content, &mut result);
                result
            }
            Err(error) => call.failed(error),
        }
    }

    async fn watch(
        &self,
        call: &Authorized<Call>,
        _context: &CallContext,
    ) -> Result<Option<watch::Receiver<u64>>, ToolError> {
        if ServerMethod::of(&call.tool) != Some(ServerMethod::ReadResource) {
            return Ok(None);
        }
        let uri = call.arguments.get("uri").and_then(Value::as_str).unwrap_or_default();
        let uri = result_conversion::server_uri(uri, call.tool.name.namespace());
        self.connection.watch(uri).await.map_err(|fault| self.request_error(call, fault))
    }

    fn reports_progress(&self) -> bool {
        true
    }

    fn set_has_user(&self, has_user: bool) {
        self.connection.broker().set_has_user(has_user);
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
    request.extensions.insert(ArgumentHeaders::of(&call.tool.parameters.to_value(), &call.arguments));
    with_metadata(ClientRequest::CallToolRequest(request), context)
}

/// Returns the request for a tool that only runs as a task, as revision 2025-11-25 defines it.
fn as_task(call: &Call, context: &CallContext) -> ClientRequest {
    let params = json!({"name": call.tool.name.name(), "arguments": call.arguments, "task": {}});
    with_metadata(ClientRequest::CustomRequest(CustomRequest::new("tools/call", Some(params))), context)
}

/// Adds the trace context and the run key to the `_meta` of a request.
fn with_metadata(mut request: ClientRequest, context: &CallContext) -> ClientRequest {
    if let Some(trace) = context.trace.as_deref() {
        request.get_meta_mut().set_traceparent(trace);
    }
    if let Some(key) = context.run_key.as_deref() {
        request.get_meta_mut().insert(RUN_KEY.to_owned(), key.into());
    }
    request
}

/// Returns true if a call was rejected because the tool only runs as a task. Nothing has run in this case.
fn requires_task(error: &ErrorData) -> bool {
    error.code == ErrorCode::METHOD_NOT_FOUND && error.message.to_lowercase().contains("task")
}

fn read_result(answer: ServerResult, call: &Call) -> Result<Response, ToolError> {
    let namespace = call.tool.name.namespace();
    match answer {
        ServerResult::CallToolResult(result) => {
            let client_content = response::of_tool(&result, call.tool.app_uri().is_some(), namespace);
            let value = result_conversion::convert(result, namespace)?;
            Ok(Response { value, client_content })
        }
        ServerResult::InputRequiredResult(_) => Err(no_user()),
        // rmcp could not parse it.
        ServerResult::CustomResult(result)
            if result.0.get("resultType") == Some(&json!("input_required")) =>
        {
            Err(invalid_question("the protocol does not define it"))
        }
        _ => Err(ToolError::new(
            ErrorKind::OutcomeUnknown,
            "the server answered the call with something that is not a tool result",
        )),
    }
}

fn unavailable(message: String) -> ToolError {
    ToolError::new(ErrorKind::Unavailable, message)
}
