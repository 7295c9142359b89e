//! Resources and prompts: those of the servers behind us under their namespaces, and results that are kept.
//!
//! The MCP loader gives tools for what a server has besides its tools. Reading goes through them, and so through the one
//! entrance: what a client may not call, it may not read.

use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{
    ErrorCode, ErrorData, GetPromptResult, Prompt, ProtocolVersion, ReadResourceResult, Resource,
    ResourceContents, ResourceTemplate, ResultType,
};
use rmcp::service::RequestContext;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use toolcrib_model::{ErrorKind, JsonObject, Tool, ToolCall, ToolError, ToolResult};
use toolcrib_policy::{Effect, Principal, RUNTIME_NAMESPACE};
use toolcrib_port::CallContext;

use crate::call::Caller;
use crate::content::{handle_of, result_uri};
use crate::server::Shared;
use crate::surface::standing_for;

/// What the addresses of resources begin with that a server behind us has: its namespace follows, and its own address.
const SCHEME: &str = "toolcrib://";

/// The most that is listed of one server.
const MAX_LISTED: usize = 1_000;

/// The most pages that are asked for.
const MAX_PAGES: usize = 20;

impl Shared {
    /// What the servers behind us offer for reading.
    pub(crate) async fn resources(
        &self,
        caller: &Caller,
        context: &RequestContext<RoleServer>,
    ) -> Vec<Resource> {
        let named = |namespace: &str, mut resource: Resource| {
            resource.uri = format!("{SCHEME}{namespace}/{}", resource.uri);
            resource
        };
        self.listed("resources/list", "resources", caller, context, named).await
    }

    /// The addresses of further resources, and that of kept results.
    pub(crate) async fn resource_templates(
        &self,
        caller: &Caller,
        context: &RequestContext<RoleServer>,
    ) -> Vec<ResourceTemplate> {
        let named = |namespace: &str, mut template: ResourceTemplate| {
            template.uri_template = format!("{SCHEME}{namespace}/{}", template.uri_template);
            template
        };
        let kept = ResourceTemplate::new(format!("{}{{?page}}", result_uri("{handle}")), "kept result")
            .with_description(
                "A page of a result that was too large to be shown whole, by the handle that it names.",
            );
        let mut templates = vec![kept];
        templates.extend(
            self.listed("resources/templates/list", "resourceTemplates", caller, context, named).await,
        );
        templates
    }

    /// The prompts that the servers behind us have ready.
    pub(crate) async fn prompts(&self, caller: &Caller, context: &RequestContext<RoleServer>) -> Vec<Prompt> {
        let named = |namespace: &str, mut prompt: Prompt| {
            prompt.name = format!("{namespace}.{}", prompt.name);
            prompt
        };
        self.listed("prompts/list", "prompts", caller, context, named).await
    }

    /// Whether a server behind us has prompts.
    pub(crate) fn has_prompts(&self) -> bool {
        let snapshot = self.runtime.snapshot();
        !standing_for("prompts/list", snapshot.iter().map(|entry| entry.tool.as_ref())).is_empty()
    }

    /// Whether there may be something to read: a server behind us has resources, or what is kept of large results may be
    /// read.
    pub(crate) fn has_resources(&self) -> bool {
        let snapshot = self.runtime.snapshot();
        let policy = self.runtime.executor().policy();
        let keeps_results = snapshot.iter().any(|entry| {
            let is_reader =
                entry.tool.name.namespace() == RUNTIME_NAMESPACE && entry.tool.name.name() == "read_result";
            is_reader && policy.is_visible(&entry.tool, Principal::new(&self.local.name))
        });
        let behind = || standing_for("resources/list", snapshot.iter().map(|entry| entry.tool.as_ref()));
        keeps_results || !behind().is_empty()
    }

    /// Lists what all servers have of a kind, side by side, in the order of their namespaces. A server that fails is left out, and
    /// so is one that somebody would have to be asked about.
    async fn listed<T: DeserializeOwned>(
        &self,
        method: &str,
        key: &str,
        caller: &Caller,
        context: &RequestContext<RoleServer>,
        named: impl Fn(&str, T) -> T,
    ) -> Vec<T> {
        let snapshot = self.runtime.snapshot();
        let calls = call_context(caller, context);
        let policy = self.runtime.executor().policy();
        let is_granted = |tool: &&Tool| policy.decide(tool, calls.principal()).effect == Effect::Grant;
        let tools = standing_for(method, snapshot.iter().map(|entry| entry.tool.as_ref()).filter(is_granted));
        let lists = tools.into_iter().map(async |(namespace, tool)| {
            let items: Vec<T> = self.pages(tool, key, &calls).await;
            items.into_iter().map(|item| named(namespace, item)).collect::<Vec<T>>()
        });
        futures::future::join_all(lists).await.into_iter().flatten().collect()
    }

    async fn pages<T: DeserializeOwned>(&self, tool: &Tool, key: &str, calls: &CallContext) -> Vec<T> {
        let (mut items, mut cursor) = (Vec::new(), None::<Value>);
        for _ in 0..MAX_PAGES {
            let arguments = cursor.take().map(|cursor| ("cursor".to_owned(), cursor)).into_iter().collect();
            let result =
                self.runtime.executor().call(ToolCall::new(tool.name.to_string(), arguments), calls).await;
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

    /// Reads a kept result, or a resource of a server.
    pub(crate) async fn read_resource(
        &self,
        uri: &str,
        caller: &Caller,
        context: &RequestContext<RoleServer>,
    ) -> Result<ReadResourceResult, ErrorData> {
        let calls = call_context(caller, context);
        if let Some(rest) = handle_of(uri) {
            let (handle, page) = rest.split_once("?page=").unwrap_or((rest, "1"));
            let page: u32 = page.parse().map_err(|_| invalid("the page is a number, from 1"))?;
            let arguments = object(json!({"handle": handle, "page": page}));
            let name = format!("{RUNTIME_NAMESPACE}::read_result");
            let result = self.runtime.executor().call(ToolCall::new(name, arguments), &calls).await;
            let value = done(result, context).map_err(|error| about(error, uri))?;
            return Ok(ReadResourceResult::new(contents(value, uri, uri)));
        }
        let (namespace, own) = match uri.strip_prefix(SCHEME).and_then(|rest| rest.split_once('/')) {
            Some((namespace, own)) => (Some(namespace), own),
            None => (None, uri),
        };
        let name = self.tool_for("resources/read", namespace, &calls).ok_or_else(|| {
            about(not_found(format!("there is no resource {uri:?}; see `resources/list`"), context), uri)
        })?;
        let call = ToolCall::new(name, object(json!({"uri": own})));
        let result = self.runtime.executor().call(call, &calls).await;
        let value = done(result, context).map_err(|error| about(error, uri))?;
        Ok(ReadResourceResult::new(contents(value, own, uri)))
    }

    /// Gets a prompt of a server.
    pub(crate) async fn prompt(
        &self,
        name: &str,
        arguments: Option<JsonObject>,
        caller: &Caller,
        context: &RequestContext<RoleServer>,
    ) -> Result<GetPromptResult, ErrorData> {
        let calls = call_context(caller, context);
        let by_namespace = name
            .split_once('.')
            .and_then(|(namespace, own)| Some((self.tool_for("prompts/get", Some(namespace), &calls)?, own)));
        let (tool, own) = by_namespace
            .or_else(|| Some((self.tool_for("prompts/get", None, &calls)?, name)))
            .ok_or_else(|| invalid(&format!("there is no prompt {name:?}; see `prompts/list`")))?;
        let arguments = json!({"name": own, "arguments": arguments.unwrap_or_default()});
        let result = self.runtime.executor().call(ToolCall::new(tool, object(arguments)), &calls).await;
        let mut value = done(result, context)?;
        let messages = value.get_mut("messages").and_then(Value::as_array_mut);
        for message in messages.into_iter().flatten() {
            if let Some(content) = message.get_mut("content")
                && let Value::String(text) = content
            {
                *content = json!({"type": "text", "text": std::mem::take(text)});
            }
        }
        let mut prompt = GetPromptResult::deserialize(value).map_err(|error| {
            ErrorData::internal_error(format!("the prompt cannot be passed on: {error}"), None)
        })?;
        // A client of an older revision is not sent it.
        prompt.result_type = Some(ResultType::COMPLETE);
        Ok(prompt)
    }

    /// The tool that stands for a method of the server of a namespace; without one, of the only server that has it.
    fn tool_for(&self, method: &str, namespace: Option<&str>, calls: &CallContext) -> Option<String> {
        let snapshot = self.runtime.snapshot();
        let policy = self.runtime.executor().policy();
        let visible = snapshot.iter().map(|entry| entry.tool.as_ref());
        let visible = visible.filter(|tool| policy.is_visible(tool, calls.principal()));
        let tools = standing_for(method, visible);
        let tool = match namespace {
            Some(namespace) => tools.get(namespace).copied(),
            None => tools.values().next().copied().filter(|_| tools.len() == 1),
        };
        tool.map(|tool| tool.name.to_string())
    }
}

/// A program reads what comes of these calls.
fn call_context(caller: &Caller, context: &RequestContext<RoleServer>) -> CallContext {
    CallContext::new(Arc::clone(&caller.session)).with_cancel(context.ct.child_token()).with_full_results()
}

fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(map) => map,
        _ => JsonObject::new(),
    }
}

fn done(result: ToolResult, context: &RequestContext<RoleServer>) -> Result<Value, ErrorData> {
    match result.error {
        None => Ok(result.result),
        Some(error) => Err(failure(&error, context)),
    }
}

fn failure(error: &ToolError, context: &RequestContext<RoleServer>) -> ErrorData {
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

/// Revision 2026-07-28 has no error of its own for it any more.
fn not_found(message: String, context: &RequestContext<RoleServer>) -> ErrorData {
    let is_new = context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28);
    let code = if is_new { ErrorCode::INVALID_PARAMS } else { ErrorCode::RESOURCE_NOT_FOUND };
    ErrorData::new(code, message, None)
}

/// The same error with the address that it is about.
fn about(error: ErrorData, uri: &str) -> ErrorData {
    ErrorData { data: Some(json!({"uri": uri})), ..error }
}

fn invalid(message: &str) -> ErrorData {
    ErrorData::invalid_params(message.to_owned(), None)
}

/// What was read, under the address that the client asked for.
fn contents(value: Value, own: &str, asked: &str) -> Vec<ResourceContents> {
    let text = |text: String| ResourceContents::TextResourceContents {
        uri: asked.to_owned(),
        mime_type: None,
        text,
        meta: None,
    };
    match value {
        Value::String(found) => vec![text(found)],
        Value::Array(items) if items.iter().all(|item| ResourceContents::deserialize(item).is_ok()) => {
            let read = items.into_iter().filter_map(|mut item| {
                if item.get("uri").and_then(Value::as_str) == Some(own) {
                    item.as_object_mut()?.insert("uri".into(), asked.into());
                }
                ResourceContents::deserialize(item).ok()
            });
            read.collect()
        }
        Value::Object(mut binary) if binary.contains_key("data") && binary.contains_key("mimeType") => {
            let mut take = |key: &str| match binary.shift_remove(key) {
                Some(Value::String(text)) => Some(text),
                _ => None,
            };
            let (mime_type, blob) = (take("mimeType"), take("data").unwrap_or_default());
            vec![ResourceContents::BlobResourceContents {
                uri: asked.to_owned(),
                mime_type,
                blob,
                meta: None,
            }]
        }
        other => vec![text(other.to_string())],
    }
}
