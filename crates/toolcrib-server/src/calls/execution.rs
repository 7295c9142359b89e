//! The execution of a call for a client, which may disconnect and return.

use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rmcp::RoleServer;
use rmcp::model::{
    ClientCapabilities, ErrorData, InputRequests, InputRequiredResult, InputResponses, ProgressToken,
    ProtocolVersion, Task,
};
use rmcp::service::{Peer, RequestContext};
use tokio_util::sync::{CancellationToken, DropGuard};
use toolcrib_hooks::cycle::{CHAIN_ATTRIBUTE, CHAIN_HEADER};
use toolcrib_model::tool::app::{APP_MEDIA_TYPE, APPS_EXTENSION};
use toolcrib_model::{ErrorKind, QualifiedName, ToolCall, ToolError, ToolResult};
use toolcrib_port::{CallContext, CallScope, PhaseTracker, ToolCaller};
use tracing::Instrument as _;

use crate::app_version::Lease;
use crate::approval::{EarlyAnswers, ElicitationKinds, ElicitationMode, ElicitationSession};
use crate::calls::progress::{ProgressReporter, progress_queue};
use crate::calls::start_record::StartRecord;
use crate::calls::structured_output::{StructuredCaller, StructuredContent};
use crate::client::Client;
use crate::replica::Replica;
use crate::server::Shared;
use crate::surface::{Audience, VisibleTools};

/// The client and the session that make a call.
#[derive(Clone)]
pub(crate) struct Caller {
    pub(crate) client: Arc<Client>,
    pub(crate) session: Arc<str>,
    /// The scope that tools receive for all callers.
    pub(crate) scope: CallScope,
    /// The version of the app that admitted the caller.
    pub(crate) lease: Lease,
    /// True if the client renders user interfaces (MCP Apps).
    pub(crate) renders_apps: bool,
}

/// The maximum length of a request id that tools receive as the message, in characters.
const MAX_MESSAGE_CHARS: usize = 200;

impl Caller {
    /// Returns the context of a call by this caller.
    pub(crate) fn context(&self) -> CallContext {
        let mut context = CallContext::new(Arc::clone(&self.session))
            .with_conversation(Arc::clone(&self.session))
            .with_scope(self.scope.clone());
        context.user.clone_from(&self.client.user);
        context.subject_token.clone_from(&self.client.subject_token);
        context.app_host = self.renders_apps;
        context
    }

    /// Returns the tools that the client sees.
    pub(crate) fn shown(&self, shared: &Shared) -> Result<Arc<VisibleTools>, ErrorData> {
        shared
            .shown_of(&self.lease.runtime, Audience { client: &self.client, renders_apps: self.renders_apps })
    }
}

/// The settings of a call before its tool is known.
pub(crate) struct CallSetup {
    pub(crate) lease: Lease,
    pub(crate) context: CallContext,
    cancel: CancellationToken,
    reporter: ProgressReporter,
    /// The channel through which its client is asked, if the client can be asked.
    mode: Option<(ElicitationMode, ElicitationKinds)>,
    /// The answers that came with the call.
    early: InputResponses,
    /// The structured content of the result, which the client checks against a schema.
    structure: Option<StructuredContent>,
    /// This process among others, one of which may resume the call.
    replica: Option<Arc<Replica>>,
}

/// The limit of waiting for a call.
#[derive(Clone, Copy)]
pub(crate) enum WaitLimit {
    /// Waits until the call ends.
    Unlimited,
    /// Waits for the time that the app sets, or else for the given time. After it the call continues in the background.
    After(Option<Duration>),
}

/// A running call.
pub(crate) struct RunningCall {
    name: String,
    result: Pin<Box<dyn Future<Output = ToolResult> + Send>>,
    context: CallContext,
    /// The elicitation session of its questions.
    elicitation: Option<Arc<ElicitationSession>>,
    /// True if the questions are sent in place of the result.
    asks_by_result: bool,
    reporter: ProgressReporter,
    started: Instant,
    structure: Option<StructuredContent>,
    /// The version of the app that started it.
    lease: Lease,
    /// The record of its start, if another process may resume it.
    start_record: Option<Arc<StartRecord>>,
    /// Cancels the call when dropped.
    _given_up: DropGuard,
}

impl FinishedCall {
    /// Returns the id of the background call if the call continues in the background.
    pub(crate) fn background_id(&self) -> Option<&str> {
        self.result.background_task()
    }
}

/// The name of the tool of a running call, and its phase.
#[derive(Clone)]
pub(crate) struct CallProgress {
    pub(crate) tool: String,
    pub(crate) phase: PhaseTracker,
}

/// The result of a call, or questions to the client, which resumes the call with the answers.
pub(crate) enum CallOutcome {
    Done(Box<FinishedCall>),
    Asks(InputRequiredResult),
}

/// A call that is complete for its client: it has a result, or continues in the background.
pub(crate) struct FinishedCall {
    pub(crate) result: ToolResult,
    pub(crate) context: CallContext,
    pub(crate) elicitation: Option<Arc<ElicitationSession>>,
    pub(crate) started: Instant,
    /// The structured content that the client checks against the schema of the tool, if the client has seen one.
    pub(crate) structure: Option<StructuredContent>,
    /// The task that the call is in another process, if it was continued there.
    pub(crate) task: Option<Box<Task>>,
    pub(crate) lease: Lease,
}

pub(super) enum WaitOutcome {
    Done(Box<ToolResult>),
    Asks(InputRequests),
}

impl CallSetup {
    /// Creates the settings of a call for a client.
    pub(crate) fn new(caller: &Caller, context: &RequestContext<RoleServer>) -> Self {
        let cancel = CancellationToken::new();
        let (steps, reporter) = progress_queue();
        let message: String = context.id.to_string().chars().take(MAX_MESSAGE_CHARS).collect();
        let mut call_context =
            caller.context().with_message(message).with_cancel(cancel.clone()).with_progress(Arc::new(steps));
        if let Some(trace) = trace_of(context) {
            call_context = call_context.with_trace(trace);
        }
        if let Some(chain) = hook_chain(context)
            && let Ok(scope) = call_context.scope.clone().with(CHAIN_ATTRIBUTE, chain)
        {
            call_context = call_context.with_scope(scope);
        }
        Self {
            lease: caller.lease.clone(),
            context: call_context,
            cancel,
            reporter,
            mode: elicitation_mode(context),
            early: InputResponses::default(),
            structure: None,
            replica: None,
        }
    }

    /// Lets another process resume the call.
    pub(crate) fn with_replica(mut self, replica: Option<&Arc<Replica>>) -> Self {
        self.replica = replica.cloned();
        self
    }

    /// Declares that the client checks the structured content of the result.
    pub(crate) fn with_structure(mut self) -> Self {
        self.structure = Some(StructuredContent::default());
        self
    }

    /// Declares that a program reads the result.
    pub(crate) fn with_full_results(mut self) -> Self {
        self.context = self.context.with_full_results();
        self
    }

    /// Sets the answers that came with the request.
    pub(crate) fn with_answers(mut self, answers: Option<InputResponses>) -> Self {
        self.early = answers.unwrap_or_default();
        self
    }

    /// Runs a call. It runs in a separate task if it may have to wait for its client to resume it.
    pub(crate) fn run(self, call: ToolCall, limit: WaitLimit) -> RunningCall {
        let Self { lease, mut context, cancel, reporter, mode, early, structure, replica } = self;
        let asks_by_result = matches!(mode, Some((ElicitationMode::Results, _)));
        let start_record = replica.filter(|_| asks_by_result).map(|replica| StartRecord::new(&replica));
        if let Some(record) = &start_record {
            context.journal = Some(Arc::clone(record) as _);
        }
        let server = if early.is_empty() { String::new() } else { server_of(&call, &lease, &context) };
        let early = EarlyAnswers { server, answers: early };
        let elicitation = mode.map(|(mode, kinds)| ElicitationSession::new(mode, kinds, early));
        let mut caller: Arc<dyn ToolCaller> = lease.runtime.executor().tool_caller();
        if let Some(elicitation) = &elicitation {
            context = context.with_reply_to(Arc::clone(elicitation) as _);
        }
        if let Some(structure) = structure.clone() {
            let executor = Arc::clone(lease.runtime.executor());
            caller = Arc::new(StructuredCaller { inner: caller, executor, structure });
        }
        if let WaitLimit::After(otherwise) = limit {
            caller = lease.runtime.patient(caller, otherwise);
        }
        let (name, inner) = (call.name.clone(), context.clone());
        let tool = name.clone();
        let result = async move { caller.call(call, &inner).await };
        let result: Pin<Box<dyn Future<Output = ToolResult> + Send>> = if asks_by_result {
            let task = tokio::spawn(result.in_current_span());
            Box::pin(async move {
                task.await.unwrap_or_else(|error| {
                    let message = format!("the call failed: {error}; this is a bug in Toolcrib");
                    ToolResult::failed(None, name, ToolError::new(ErrorKind::Internal, message))
                })
            })
        } else {
            Box::pin(result)
        };
        RunningCall {
            name: tool,
            result,
            context,
            elicitation,
            asks_by_result,
            reporter,
            started: Instant::now(),
            structure,
            lease,
            start_record,
            _given_up: cancel.drop_guard(),
        }
    }
}

impl RunningCall {
    /// Accepts the answers of the client to its questions.
    pub(super) fn accept_answers(&self, responses: InputResponses) {
        if let Some(elicitation) = &self.elicitation {
            elicitation.accept_answers(responses);
        }
    }

    /// Reports the progress of the call to a client from now on.
    pub(super) fn report_to(&mut self, client: Option<(Peer<RoleServer>, ProgressToken)>) {
        self.reporter.report_to(client);
    }

    /// Returns the name of the tool and the phase of the call.
    pub(super) fn progress(&self) -> CallProgress {
        let tool = self.name.parse().map_or_else(|_| self.name.clone(), |name: QualifiedName| name.dotted());
        CallProgress { tool, phase: self.context.phase.clone() }
    }

    pub(super) fn start_record(&self) -> Option<Arc<StartRecord>> {
        self.start_record.clone()
    }

    /// Returns the call with its result.
    pub(super) fn finish(self, result: ToolResult) -> FinishedCall {
        let Self { context, elicitation, started, structure, lease, .. } = self;
        FinishedCall { result, context, elicitation, started, structure, lease, task: None }
    }

    /// Continues the call while its client waits.
    pub(super) async fn wait(&mut self, gone: &CancellationToken) -> WaitOutcome {
        let elicitation = self.elicitation.clone().filter(|_| self.asks_by_result);
        // Questions that remain open after the client's answers are asked again.
        if let Some(requests) = elicitation.as_ref().and_then(|elicitation| elicitation.open_questions()) {
            return WaitOutcome::Asks(requests);
        }
        let mut is_gone = false;
        loop {
            tokio::select! {
                biased;
                result = &mut self.result => {
                    self.reporter.finish().await;
                    return WaitOutcome::Done(Box::new(result));
                }
                () = gone.cancelled(), if !is_gone => {
                    is_gone = true;
                    self.context.cancel.cancel();
                }
                () = wait_for_question(elicitation.as_deref()) => {
                    if let Some(requests) = elicitation.as_ref().and_then(|elicitation| elicitation.open_questions()) {
                        return WaitOutcome::Asks(requests);
                    }
                }
                step = self.reporter.next() => self.reporter.tell(step).await,
            }
        }
    }
}

/// Returns the namespace of the tool that a call names.
fn server_of(call: &ToolCall, lease: &Lease, context: &CallContext) -> String {
    let tools = lease
        .runtime
        .executor()
        .tool_caller()
        .catalogue()
        .find_tools(&call.name, context)
        .unwrap_or_default();
    tools.first().map(|tool| tool.name.namespace().to_owned()).unwrap_or_default()
}

async fn wait_for_question(elicitation: Option<&ElicitationSession>) {
    match elicitation {
        Some(elicitation) => elicitation.wait_for_question().await,
        None => std::future::pending().await,
    }
}

/// Returns true if a request is of revision 2026-07-28 or later.
pub(crate) fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

/// Returns true if a client with these capabilities renders user interfaces (MCP Apps).
pub(crate) fn renders_apps(capabilities: Option<&ClientCapabilities>) -> bool {
    let extensions = capabilities.and_then(|capabilities| capabilities.extensions.as_ref());
    let Some(settings) = extensions.and_then(|extensions| extensions.get(APPS_EXTENSION)) else {
        return false;
    };
    // A host that names no media types renders the only one there is.
    let media_types = settings.get("mimeTypes").and_then(serde_json::Value::as_array);
    media_types.is_none_or(|media_types| media_types.iter().any(|media_type| media_type == APP_MEDIA_TYPE))
}

/// Returns the channel through which this client is asked, and the kinds of questions, if it can ask its user.
fn elicitation_mode(context: &RequestContext<RoleServer>) -> Option<(ElicitationMode, ElicitationKinds)> {
    let capabilities: ClientCapabilities = context.client_capabilities()?;
    let elicitation = capabilities.elicitation?;
    // A client that declares no mode supports forms, the only mode of earlier revisions.
    let pages = elicitation.url.is_some();
    let kinds = ElicitationKinds { forms: elicitation.form.is_some() || !pages, pages };
    let mode = if is_modern(context) {
        ElicitationMode::Results
    } else {
        ElicitationMode::Requests(context.peer.clone())
    };
    Some((mode, kinds))
}

/// Returns the hooks on whose behalf a client declares to call: with them, a cycle of hooks is found.
fn hook_chain(context: &RequestContext<RoleServer>) -> Option<&str> {
    context.extensions.get::<http::request::Parts>()?.headers.get(CHAIN_HEADER)?.to_str().ok()
}

/// Returns the trace context that a client declares for its request.
pub(crate) fn trace_of(context: &RequestContext<RoleServer>) -> Option<&str> {
    context.meta.get_traceparent().filter(|trace| is_traceparent(trace))
}

/// Returns true if a client's text has the form of a `traceparent`, which is passed on to the engines.
fn is_traceparent(text: &str) -> bool {
    text.len() == 55 && text.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
}
