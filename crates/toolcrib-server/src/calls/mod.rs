//! Tool calls, from the request of a client to its answer.

pub(crate) mod content;
pub(crate) mod execution;
pub(crate) mod out_of_band_notes;
pub(crate) mod progress;
pub(crate) mod resumption;
pub(crate) mod start_record;
pub(crate) mod structured_output;
pub(crate) mod tasks;

use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CreateTaskResult, ErrorData, Task,
};
use rmcp::service::RequestContext;
use toolcrib_model::name::NAMESPACE_SEPARATOR;
use toolcrib_model::{ErrorKind, JsonObject, ToolCall, ToolError, ToolResult};
use toolcrib_port::CallContext;
use toolcrib_runtime::Runtime;
use tracing::Instrument as _;

use crate::approval::RequestKey;
use crate::calls::content::{content, publish_links, with_structure};
use crate::calls::execution::{
    CallOutcome, CallSetup, Caller, FinishedCall, RunningCall, WaitLimit, trace_of,
};
use crate::calls::out_of_band_notes::notes;
use crate::calls::resumption::Resumed;
use crate::calls::tasks::{TASK_AFTER, takes_tasks};
use crate::client::Client;
use crate::metrics::{logged, milliseconds};
use crate::server::Shared;
use crate::surface::{Audience, Intent, annotate_intents, refused};

impl Shared {
    /// Answers `tools/call`.
    pub(crate) async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
        caller: Caller,
    ) -> Result<CallToolResponse, ErrorData> {
        let _running = self.begin_request()?;
        // The attributes follow the OpenTelemetry conventions for MCP. The call itself has an inner span.
        let span = tracing::info_span!(
            target: "toolcrib_server",
            "tools/call",
            "otel.kind" = "server",
            "toolcrib.parent" = trace_of(&context),
            "mcp.method.name" = "tools/call",
            "gen_ai.tool.name" = logged(&request.name),
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
        let key = RequestKey::new(&caller.client, &caller.session, "tools/call", &request.name, &arguments);
        let resumed = match &request.request_state {
            Some(token) => {
                let responses = request.input_responses.clone();
                Some(self.resume(&key, token, responses, &caller, &context).await?)
            }
            None => None,
        };
        let outcome = if let Some(Resumed::Continued(outcome)) = resumed {
            outcome
        } else {
            // Answers to the questions of a call that was lost are not answers to those of another.
            let answers = request.input_responses.filter(|_| resumed.is_none());
            let setup = CallSetup::new(&caller, &context).with_answers(answers);
            let setup = setup.with_replica(self.settings.replica.as_ref());
            let has_begun = matches!(resumed, Some(Resumed::Lost { has_begun: true }));
            match self.begin_call(&request.name, arguments, (setup, has_begun), &context, &caller.client) {
                Ok(running) => self.advance(&key, running, &context).await?,
                Err(answer) => return Ok((*answer).into()),
            }
        };
        match outcome {
            CallOutcome::Done(ended) => Ok(self.finish_call(*ended, &context, &caller.client).await),
            CallOutcome::Asks(asks) => Ok(asks.into()),
        }
    }

    /// Starts a call, again if it had begun in a process that has ended and may be repeated. Returns the answer for the
    /// client as an error if no call can be started.
    fn begin_call(
        &self,
        name: &str,
        arguments: JsonObject,
        (setup, has_begun): (CallSetup, bool),
        context: &RequestContext<RoleServer>,
        client: &Client,
    ) -> Result<RunningCall, Box<CallToolResult>> {
        let shown = self.shown_of(&setup.lease.runtime, audience(client, &setup.context));
        let has_schema = shown.is_ok_and(|shown| shown.declares_output(name));
        let setup = if has_schema { setup.with_structure() } else { setup };
        let call = self.resolve_call(name, arguments, &setup.lease.runtime, &setup.context, client);
        let catalogue = setup.lease.runtime.executor().tool_caller();
        let call = call.and_then(|call| {
            let may_run = !has_begun || catalogue.catalogue().may_repeat(&call, &setup.context);
            if may_run { Ok(call) } else { Err(outcome_unknown(name)) }
        });
        match call {
            Ok(call) => {
                let after = takes_tasks(context).then(|| self.settings.task_after.unwrap_or(TASK_AFTER));
                Ok(setup.run(call, WaitLimit::After(after)))
            }
            Err(error) => {
                self.record_call(client, name, error.kind.as_str(), Duration::ZERO);
                let failed = ToolResult::failed(None, name, error);
                let caller = setup.lease.runtime.executor().tool_caller();
                Err(Box::new(content(failed, caller.results(), &setup.context)))
            }
        }
    }

    /// Returns the answer to a call that has a result or continues in the background.
    async fn finish_call(
        &self,
        mut ended: FinishedCall,
        context: &RequestContext<RoleServer>,
        client: &Client,
    ) -> CallToolResponse {
        let outcome = ended.result.error.as_ref().map_or("ok", |error| error.kind.as_str());
        self.record_call(client, &ended.result.name, outcome, ended.started.elapsed());
        let task = match ended.task.take() {
            Some(task) => Some(*task),
            None => self.task_of(&ended, takes_tasks(context)).await,
        };
        if let Some(task) = task {
            return CreateTaskResult::new(task).into();
        }
        // A client that has disconnected gets no notes.
        let noted = if context.ct.is_cancelled() { None } else { notes(&ended).await };
        let shown = self.shown_of(&ended.lease.runtime, audience(client, &ended.context)).ok();
        if shown.as_ref().is_some_and(|shown| shown.is_split) {
            annotate_intents(&mut ended.result, &ended.lease.runtime, &ended.context);
        }
        if let Some(saved) = ended.result.saved_tokens() {
            self.metrics.projection(saved);
        }
        let name = ended.result.name.clone();
        let namespace = name.split_once(NAMESPACE_SEPARATOR).map_or("", |(namespace, _)| namespace);
        let caller = ended.lease.runtime.executor().tool_caller();
        let mut told = match ended.structure.map(|structure| structure.take()) {
            Some(structure) => with_structure(ended.result, structure, caller.results(), &ended.context),
            None => content(ended.result, caller.results(), &ended.context),
        };
        if let Some(shown) = shown {
            publish_links(&mut told.content, namespace, &shown.app_uris);
        }
        told.content.extend(noted);
        told.into()
    }

    /// Returns the task of a call that continues in the background, if its client supports tasks. Without a task, the
    /// questions of the call get no answer.
    async fn task_of(&self, ended: &FinishedCall, takes_tasks: bool) -> Option<Task> {
        ended.background_id()?;
        let task = if takes_tasks { self.tasks.create(ended).await } else { None };
        if let (None, Some(elicitation)) = (&task, &ended.elicitation) {
            elicitation.abandon();
        }
        task
    }

    /// Counts and logs an answered call.
    fn record_call(&self, client: &Client, tool: &str, outcome: &'static str, took: Duration) {
        self.metrics.call(outcome, took);
        let ms = milliseconds(took);
        tracing::info!(client = client.name, tool = logged(tool), outcome, ms, "answered a call");
    }

    /// Resolves the call that a client requests.
    fn resolve_call(
        &self,
        name: &str,
        arguments: JsonObject,
        runtime: &Arc<Runtime>,
        context: &CallContext,
        client: &Client,
    ) -> Result<ToolCall, ToolError> {
        let shown = self
            .shown_of(runtime, audience(client, context))
            .map_err(|error| ToolError::new(ErrorKind::Internal, error.message.into_owned()))?;
        if let Some(intent) = Intent::of(name).filter(|_| shown.is_split) {
            return intent.forwarded(arguments, runtime, context);
        }
        let call = ToolCall::new(shown.resolve(name), arguments);
        let refusal = refused(&call.name, runtime, context).filter(|_| shown.is_split);
        refusal.map_or(Ok(call), Err)
    }
}

fn audience<'a>(client: &'a Client, context: &CallContext) -> Audience<'a> {
    Audience { client, renders_apps: context.app_host }
}

/// Returns the error for a call that had begun in a process that has ended.
fn outcome_unknown(name: &str) -> ToolError {
    let message =
        format!("the process that ran `{name}` has ended after the call had begun: its outcome is unknown");
    ToolError::new(ErrorKind::OutcomeUnknown, message)
        .with_hint("it may have taken effect: check before you repeat it")
}
