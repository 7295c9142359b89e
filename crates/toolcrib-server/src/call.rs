//! One call of a tool, from a client's request to its answer.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ClientCapabilities, ErrorData, InputRequiredResult,
    InputResponses, ProtocolVersion,
};
use rmcp::service::RequestContext;
use tokio_util::sync::{CancellationToken, DropGuard};
use toolcrib_model::{JsonObject, ToolCall, ToolError, ToolResult};
use toolcrib_port::CallContext;
use tracing::Instrument as _;

use crate::approval::{Desk, Key, Way};
use crate::client::Client;
use crate::content::content;
use crate::progress::{Reporter, steps};
use crate::server::Shared;
use crate::surface::{Intent, refused};

/// Who makes a call, and in which session.
#[derive(Clone)]
pub(crate) struct Caller {
    pub(crate) client: Arc<Client>,
    pub(crate) session: Arc<str>,
}

/// A call that runs, whether its client is there or not.
pub(crate) struct Running {
    result: Pin<Box<dyn Future<Output = ToolResult> + Send>>,
    context: CallContext,
    /// Where its questions are put, where the client is asked by what stands in the place of the result.
    desk: Option<Arc<Desk>>,
    reporter: Reporter,
    started: Instant,
    /// Ends it when nobody has it any more.
    _given_up: DropGuard,
}

impl Shared {
    /// Answers `tools/call`.
    pub(crate) async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
        caller: Caller,
    ) -> Result<CallToolResponse, ErrorData> {
        let _under_way = self.begin()?;
        // As the conventions for MCP have it; the call itself has a span within.
        let span = tracing::info_span!(
            target: "toolcrib_server",
            "tools/call",
            "otel.kind" = "server",
            "toolcrib.parent" = trace_of(&context),
            "mcp.method.name" = "tools/call",
            "gen_ai.tool.name" = &*request.name,
            "mcp.client" = caller.client.name,
        );
        self.answer(request, context, caller).instrument(span).await
    }

    async fn answer(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
        caller: Caller,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let key = Key::new(&caller.client, &caller.session, &request.name, &arguments);
        let mut running = match request.request_state {
            Some(token) => {
                let running = self.parked.take(&key, &token)?;
                running.answered(request.input_responses);
                running
            }
            None => match self.begin_call(&request.name, arguments, &context, &caller) {
                Ok(running) => running,
                Err(refusal) => {
                    let (error, context) = *refusal;
                    self.metrics.call(error.kind.as_str(), std::time::Duration::ZERO);
                    let failed = ToolResult::failed(None, request.name.as_ref(), error);
                    let entrance = self.runtime.executor().entrance();
                    return Ok(content(failed, entrance.as_ref(), &context).into());
                }
            },
        };
        let token = context.meta.get_progress_token();
        running.reporter.report_to(token.map(|token| (context.peer.clone(), token)));
        match running.attend(&context.ct).await {
            Attended::Done(result) => {
                let outcome = result.error.as_ref().map_or("ok", |error| error.kind.as_str());
                self.metrics.call(outcome, running.started.elapsed());
                let entrance = self.runtime.executor().entrance();
                Ok(content(*result, entrance.as_ref(), &running.context).into())
            }
            Attended::Asks(requests) => {
                let token = self.parked.park(&key, running)?;
                Ok(InputRequiredResult::new(Some(requests), Some(token)).into())
            }
        }
    }

    /// Begins a call. Where it may have to wait for its client to come back, it runs apart from the request.
    fn begin_call(
        &self,
        name: &str,
        arguments: JsonObject,
        context: &RequestContext<RoleServer>,
        caller: &Caller,
    ) -> Result<Running, Box<(ToolError, CallContext)>> {
        let cancel = CancellationToken::new();
        let (steps, reporter) = steps();
        let mut call_context = CallContext::new(Arc::clone(&caller.session))
            .with_cancel(cancel.clone())
            .with_progress(Arc::new(steps));
        if let Some(trace) = trace_of(context) {
            call_context = call_context.with_trace(trace);
        }
        let call = match self.meant(name, arguments, &call_context, &caller.client) {
            Ok(call) => call,
            Err(error) => return Err(Box::new((error, call_context))),
        };
        let executor = Arc::clone(self.runtime.executor());
        let inner = call_context.clone();
        let result = async move { executor.call(call, &inner).await };
        let (result, desk): (Pin<Box<dyn Future<Output = ToolResult> + Send>>, _) = match way(context) {
            None => (Box::pin(result), None),
            Some(way @ Way::Requests(_)) => (Box::pin(Desk::new(way).serve(result)), None),
            Some(way @ Way::Results) => {
                let desk = Desk::new(way);
                let name = name.to_owned();
                let task = tokio::spawn(Arc::clone(&desk).serve(result).in_current_span());
                let joined = async move {
                    task.await.unwrap_or_else(|error| {
                        let message = format!("the call broke off: {error}; this is a fault of Toolcrib");
                        ToolResult::failed(
                            None,
                            name,
                            ToolError::new(toolcrib_model::ErrorKind::Internal, message),
                        )
                    })
                };
                (Box::pin(joined), Some(desk))
            }
        };
        let given_up = cancel.drop_guard();
        let (context, started) = (call_context, Instant::now());
        Ok(Running { result, context, desk, reporter, started, _given_up: given_up })
    }

    /// The call that a client means.
    fn meant(
        &self,
        name: &str,
        arguments: JsonObject,
        context: &CallContext,
        client: &Client,
    ) -> Result<ToolCall, ToolError> {
        let shown = self.shown(&client.name).map_err(|error| {
            ToolError::new(toolcrib_model::ErrorKind::Internal, error.message.into_owned())
        })?;
        if let Some(intent) = Intent::of(name).filter(|_| shown.is_split) {
            return intent.forwarded(arguments, &self.runtime, context);
        }
        let call = ToolCall::new(shown.resolve(name), arguments);
        let refusal = refused(&call.name, &self.runtime, context).filter(|_| shown.is_split);
        refusal.map_or(Ok(call), Err)
    }
}

/// What comes first: the result, or a question to the client.
enum Attended {
    Done(Box<ToolResult>),
    Asks(rmcp::model::InputRequests),
}

impl Running {
    /// Takes the client's answers to what was asked.
    fn answered(&self, responses: Option<InputResponses>) {
        if let (Some(desk), Some(responses)) = (&self.desk, responses) {
            desk.answered(responses);
        }
    }

    /// Goes on with the call while its client waits.
    async fn attend(&mut self, gone: &CancellationToken) -> Attended {
        // What is still open after the answers of the client is asked again.
        if let Some(requests) = self.desk.as_ref().and_then(|desk| desk.wants()) {
            return Attended::Asks(requests);
        }
        let mut is_gone = false;
        loop {
            tokio::select! {
                biased;
                result = &mut self.result => {
                    self.reporter.finish().await;
                    return Attended::Done(Box::new(result));
                }
                () = gone.cancelled(), if !is_gone => {
                    is_gone = true;
                    self.context.cancel.cancel();
                }
                () = asked(self.desk.as_deref()) => {
                    if let Some(requests) = self.desk.as_ref().and_then(|desk| desk.wants()) {
                        return Attended::Asks(requests);
                    }
                }
                step = self.reporter.next() => self.reporter.tell(step).await,
            }
        }
    }
}

async fn asked(desk: Option<&Desk>) {
    match desk {
        Some(desk) => desk.wanted().await,
        None => std::future::pending().await,
    }
}

/// How the user of this client is asked, if the client can do that.
fn way(context: &RequestContext<RoleServer>) -> Option<Way> {
    let capabilities: ClientCapabilities = context.client_capabilities()?;
    let elicitation = capabilities.elicitation?;
    // A client that says nothing of ways knows forms: there was nothing else before.
    if elicitation.form.is_none() && elicitation.url.is_some() {
        return None;
    }
    let is_new = context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28);
    Some(if is_new { Way::Results } else { Way::Requests(context.peer.clone()) })
}

/// The trace that a client says its request belongs to.
fn trace_of(context: &RequestContext<RoleServer>) -> Option<&str> {
    context.meta.get_traceparent().filter(|trace| is_traceparent(trace))
}

/// Whether a client's text has the form of a `traceparent`, which is passed on to the engines.
fn is_traceparent(text: &str) -> bool {
    text.len() == 55 && text.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
}
