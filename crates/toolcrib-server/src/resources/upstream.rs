//! Prompts, resources and completions of upstream servers, through the tools that represent them.

use rmcp::RoleServer;
use rmcp::model::{ErrorCode, ErrorData};
use rmcp::service::RequestContext;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use toolcrib_model::{ErrorKind, JsonObject, Tool, ToolCall, ToolError, ToolResult};
use toolcrib_policy::Effect;
use toolcrib_port::CallContext;
use toolcrib_runtime::Runtime;

use crate::calls::execution::{Caller, is_modern};
use crate::server::Shared;
use crate::surface::standing_for;

/// The maximum number of items that are listed of one server.
const MAX_LISTED: usize = 1_000;

/// The maximum number of pages that are requested of one server.
const MAX_PAGES: usize = 20;

impl Shared {
    /// Lists the items of all servers, concurrently, with the namespaces of the servers, in their order. Skips a server that fails or
    /// that would require an approval, because a client must not be asked during a list request.
    pub(crate) async fn listed<T: DeserializeOwned>(
        &self,
        method: &str,
        key: &str,
        caller: &Caller,
        context: &RequestContext<RoleServer>,
    ) -> Vec<(String, T)> {
        let runtime = &caller.lease.runtime;
        let (snapshot, policy) = (runtime.snapshot(), runtime.executor().policy());
        let calls = caller.context().with_cancel(context.ct.child_token()).with_full_results();
        let is_granted = |tool: &&Tool| policy.decide(tool, calls.principal()).effect == Effect::Grant;
        let tools = standing_for(method, snapshot.iter().map(|entry| entry.tool.as_ref()).filter(is_granted));
        let lists = tools.into_iter().map(async |(namespace, tool)| {
            let items: Vec<T> = pages(tool, key, runtime, &calls).await;
            items.into_iter().map(|item| (namespace.to_owned(), item)).collect::<Vec<_>>()
        });
        futures::future::join_all(lists).await.into_iter().flatten().collect()
    }
}

async fn pages<T: DeserializeOwned>(
    tool: &Tool,
    key: &str,
    runtime: &Runtime,
    calls: &CallContext,
) -> Vec<T> {
    let (mut items, mut cursor) = (Vec::new(), None::<Value>);
    for _ in 0..MAX_PAGES {
        let arguments = cursor.take().map(|cursor| ("cursor".to_owned(), cursor)).into_iter().collect();
        let result = runtime.executor().call(ToolCall::new(tool.name.to_string(), arguments), calls).await;
        if let Some(error) = &result.error {
            tracing::warn!(tool = %tool.name, %error, "a server is left out of a list");
            break;
        }
        let page = result.result.get(key).and_then(Value::as_array).into_iter().flatten();
        items.extend(page.filter_map(|item| T::deserialize(item).ok()));
        cursor = result.result.get("nextCursor").filter(|cursor| cursor.is_string()).cloned();
        if cursor.is_none() || items.len() >= MAX_LISTED {
            break;
        }
    }
    items.truncate(MAX_LISTED);
    items
}

/// Returns the tool that represents a method of the server of a namespace. Without a namespace, returns that of the
/// only server with the method.
pub(crate) fn tool_for(
    method: &str,
    namespace: Option<&str>,
    runtime: &Runtime,
    calls: &CallContext,
) -> Option<String> {
    let (snapshot, policy) = (runtime.snapshot(), runtime.executor().policy());
    let visible = snapshot.iter().map(|entry| entry.tool.as_ref());
    let visible = visible.filter(|tool| policy.is_visible(tool, calls.principal()));
    let tools = standing_for(method, visible);
    let tool = match namespace {
        Some(namespace) => tools.get(namespace).copied(),
        None => tools.values().next().copied().filter(|_| tools.len() == 1),
    };
    tool.map(|tool| tool.name.to_string())
}

pub(crate) fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(map) => map,
        _ => JsonObject::new(),
    }
}

/// Returns the value of a call, or the error for the client.
pub(crate) fn done(result: ToolResult, context: &RequestContext<RoleServer>) -> Result<Value, ErrorData> {
    match result.error {
        None => Ok(result.result),
        Some(error) => Err(failure(&error, context)),
    }
}

pub(super) fn failure(error: &ToolError, context: &RequestContext<RoleServer>) -> ErrorData {
    let message = match &error.hint {
        Some(hint) => format!("{}; {hint}", error.message),
        None => error.message.clone(),
    };
    let says_unknown = ["not found", "unknown", "no such", "does not exist", "-32002"];
    let is_unknown = says_unknown.iter().any(|words| message.to_lowercase().contains(words));
    match error.kind {
        ErrorKind::NotFound => not_found(message, context),
        ErrorKind::ToolFailed | ErrorKind::InvalidArgs if is_unknown => not_found(message, context),
        ErrorKind::InvalidArgs => invalid(&message),
        _ => ErrorData::internal_error(message, Some(json!({"kind": error.kind}))),
    }
}

/// Returns an error for a missing resource. Revision 2026-07-28 no longer has a separate error code for it.
pub(super) fn not_found(message: String, context: &RequestContext<RoleServer>) -> ErrorData {
    let code = if is_modern(context) { ErrorCode::INVALID_PARAMS } else { ErrorCode::RESOURCE_NOT_FOUND };
    ErrorData::new(code, message, None)
}

/// Adds the URI to an error.
pub(super) fn about(error: ErrorData, uri: &str) -> ErrorData {
    ErrorData { data: Some(json!({"uri": uri})), ..error }
}

pub(crate) fn invalid(message: &str) -> ErrorData {
    ErrorData::invalid_params(message.to_owned(), None)
}
