//! Prompts: those of upstream servers under their namespaces, and the skills of the app.

mod skills;

use rmcp::RoleServer;
use rmcp::model::{
    ErrorData, GetPromptRequestParams, GetPromptResponse, GetPromptResult, Prompt, ResultType,
};
use rmcp::service::RequestContext;
use serde::Deserialize as _;
use serde_json::{Value, json};
use toolcrib_model::{JsonObject, ToolCall};
use toolcrib_port::CallContext;
use toolcrib_runtime::Runtime;

use crate::approval::RequestKey;
use crate::calls::execution::{CallOutcome, CallSetup, Caller};
use crate::resources::{done, invalid, object, tool_for};
use crate::server::Shared;
use crate::surface::standing_for;

/// The kind of a prompt.
enum PromptKind {
    Skill,
    OfServer,
}

impl Shared {
    /// Lists the skills that the client may use, and the prompts of upstream servers.
    pub(crate) async fn prompts(&self, caller: &Caller, context: &RequestContext<RoleServer>) -> Vec<Prompt> {
        let of_servers = self.listed("prompts/list", "prompts", caller, context).await;
        let mut prompts = skills::prompts(&caller.lease.runtime, &caller.session);
        prompts.extend(of_servers.into_iter().map(|(namespace, mut prompt): (_, Prompt)| {
            prompt.name = format!("{namespace}.{}", prompt.name);
            prompt
        }));
        prompts
    }

    /// Returns true if there is a skill, or an upstream server has prompts.
    pub(crate) fn has_prompts(&self) -> bool {
        let runtime = self.runtime();
        let snapshot = runtime.snapshot();
        let behind = || standing_for("prompts/list", snapshot.iter().map(|entry| entry.tool.as_ref()));
        runtime.view(&self.local.session).skills().next().is_some() || !behind().is_empty()
    }

    /// Gets a skill or a prompt of a server. Asks the user if an approval is required.
    pub(crate) async fn prompt(
        &self,
        request: GetPromptRequestParams,
        caller: &Caller,
        context: &RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let (name, arguments) = (request.name, request.arguments.unwrap_or_default());
        let key = RequestKey::new(&caller.client, &caller.session, "prompts/get", &name, &arguments);
        let setup = CallSetup::new(caller, context).with_full_results();
        let (target, call) = target(&name, &arguments, &setup.lease.runtime, &setup.context)?;
        let state = (request.request_state.as_deref(), request.input_responses);
        match self.read(&key, state, (setup, call), caller, context).await? {
            CallOutcome::Asks(asks) => Ok(asks.into()),
            CallOutcome::Done(ended) => {
                let value = done(ended.result, context)?;
                let mut prompt = match target {
                    PromptKind::Skill => skills::told(value)?,
                    PromptKind::OfServer => passed_on(value)?,
                };
                // The field is not sent to clients of older revisions.
                prompt.result_type = Some(ResultType::COMPLETE);
                Ok(prompt.into())
            }
        }
    }
}

/// Resolves the name of a prompt. The name of a skill has no dot, and the name of a server's prompt consists of its
/// namespace, a dot and its name.
fn target(
    name: &str,
    arguments: &JsonObject,
    runtime: &Runtime,
    calls: &CallContext,
) -> Result<(PromptKind, ToolCall), ErrorData> {
    if runtime.view(&calls.session).skills().any(|skill| skill.name == name) {
        return Ok((PromptKind::Skill, skills::call(name, arguments)?));
    }
    let by_namespace = name
        .split_once('.')
        .and_then(|(namespace, own)| Some((tool_for("prompts/get", Some(namespace), runtime, calls)?, own)));
    let (tool, own) = by_namespace
        .or_else(|| Some((tool_for("prompts/get", None, runtime, calls)?, name)))
        .ok_or_else(|| invalid(&format!("there is no prompt {name:?}; see `prompts/list`")))?;
    let arguments = json!({"name": own, "arguments": arguments});
    Ok((PromptKind::OfServer, ToolCall::new(tool, object(arguments))))
}

/// Converts a prompt of a server from the result of the tool that represents it.
fn passed_on(mut value: Value) -> Result<GetPromptResult, ErrorData> {
    let messages = value.get_mut("messages").and_then(Value::as_array_mut);
    for message in messages.into_iter().flatten() {
        if let Some(content) = message.get_mut("content")
            && let Value::String(text) = content
        {
            *content = json!({"type": "text", "text": std::mem::take(text)});
        }
    }
    GetPromptResult::deserialize(value)
        .map_err(|error| ErrorData::internal_error(format!("the prompt cannot be passed on: {error}"), None))
}
