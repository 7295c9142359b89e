//! Tools for the resources, prompts and completions of a server, in its namespace.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rmcp::model::{
    ArgumentInfo, ClientRequest, CompleteRequest, CompleteRequestParams, CompleteResult, ContentBlock,
    ErrorCode, GetPromptRequest, GetPromptRequestParams, GetPromptResult, InputResponses, ListPromptsRequest,
    ListResourceTemplatesRequest, ListResourcesRequest, PaginatedRequestParams, ReadResourceRequest,
    ReadResourceRequestParams, ReadResourceResult, Reference, Resource, ResourceContents, ServerResult,
};
use serde::Deserialize as _;
use serde_json::{Value, json};
use tokio::time::timeout;
use toolcrib_model::tool::app::APP_SCHEME;
use toolcrib_model::{JsonObject, NameError, QualifiedName, Risk, Tool};

use crate::McpSource;
use crate::calls::result_conversion::{block, server_uri};
use crate::connection::client_handler::Changes;
use crate::connection::session::{RequestError, Session};
use crate::tools::catalog::ServerInfo;

/// The time that a server has to report whether it has resources and prompts.
const ASK_TIMEOUT: Duration = Duration::from_secs(2);

/// The metadata key, on tools that list, for the number of changes that the server has announced. A cached result of
/// such a tool is outdated when the number differs.
const CHANGES: &str = "mcp_changes";

/// A method of the protocol, other than `tools/call`, that is offered as a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServerMethod {
    ListResources,
    ListResourceTemplates,
    ReadResource,
    ListPrompts,
    GetPrompt,
    Complete,
}

impl ServerMethod {
    const ALL: [Self; 6] = [
        Self::ListResources,
        Self::ListResourceTemplates,
        Self::ReadResource,
        Self::ListPrompts,
        Self::GetPrompt,
        Self::Complete,
    ];

    /// Returns the method that a tool calls, if it is one of these tools.
    pub(crate) fn of(tool: &Tool) -> Option<Self> {
        let name = tool.protocol_method()?;
        Self::ALL.into_iter().find(|method| method.as_str() == name)
    }

    /// Returns the name of the method in the protocol.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::ListResources => "resources/list",
            Self::ListResourceTemplates => "resources/templates/list",
            Self::ReadResource => "resources/read",
            Self::ListPrompts => "prompts/list",
            Self::GetPrompt => "prompts/get",
            Self::Complete => "completion/complete",
        }
    }

    /// Returns true if the server supports the method.
    fn is_supported_by(self, server: &ServerInfo) -> bool {
        match self {
            Self::ListResources => server.has_resources || server.has_apps,
            Self::ListResourceTemplates => server.has_templates,
            Self::ReadResource => server.has_resources || server.has_templates || server.has_apps,
            Self::ListPrompts | Self::GetPrompt => server.has_prompts,
            Self::Complete => server.completes && (server.has_prompts || server.has_templates),
        }
    }

    /// Returns true if the method is of use to models. They do not read user interfaces.
    fn is_for_models(self, server: &ServerInfo) -> bool {
        match self {
            Self::ListResources => server.has_resources,
            Self::ReadResource => server.has_resources || server.has_templates,
            Self::ListResourceTemplates | Self::ListPrompts | Self::GetPrompt => true,
            Self::Complete => false,
        }
    }

    /// Returns how often the list that the method returns has changed; 0 for methods that return no list.
    fn changes(self, changes: Changes) -> u64 {
        match self {
            Self::ListResources | Self::ListResourceTemplates => changes.resources,
            Self::ListPrompts => changes.prompts,
            Self::ReadResource | Self::GetPrompt | Self::Complete => 0,
        }
    }

    /// Returns the name of the tool.
    fn tool_name(self) -> &'static str {
        match self {
            Self::ListResources => "list_resources",
            Self::ListResourceTemplates => "list_resource_templates",
            Self::ReadResource => "read_resource",
            Self::ListPrompts => "list_prompts",
            Self::GetPrompt => "get_prompt",
            Self::Complete => "complete",
        }
    }

    fn description(self) -> &'static str {
        match self {
            Self::ListResources => {
                "Lists the resources that this server offers for reading, a page at a time."
            }
            Self::ListResourceTemplates => {
                "Lists the templates of addresses (RFC 6570) under which this server has further resources."
            }
            Self::ReadResource => "Reads a resource of this server by its URI.",
            Self::ListPrompts => "Lists the prompts that this server has ready, with their arguments.",
            Self::GetPrompt => "Gets a prompt of this server, filled in with arguments.",
            Self::Complete => "Completes an argument of a prompt or of a template of addresses.",
        }
    }

    fn parameters(self) -> Value {
        match self {
            Self::ListResources | Self::ListResourceTemplates | Self::ListPrompts => json!({
                "type": "object",
                "properties": {
                    "cursor": {"type": "string", "description": "The `nextCursor` of the page before."},
                },
                "additionalProperties": false,
            }),
            Self::ReadResource => json!({
                "type": "object",
                "properties": {
                    "uri": {"type": "string", "description": "As it was listed, or made of a template."},
                },
                "required": ["uri"],
                "additionalProperties": false,
            }),
            Self::GetPrompt => json!({
                "type": "object",
                "properties": {
                    "name": {"type": "string", "description": "As it was listed."},
                    "arguments": {"type": "object", "additionalProperties": {"type": "string"}},
                },
                "required": ["name"],
                "additionalProperties": false,
            }),
            Self::Complete => json!({
                "type": "object",
                "properties": {
                    "ref": {"oneOf": [
                        {
                            "type": "object",
                            "properties": {"type": {"const": "ref/prompt"}, "name": {"type": "string"}},
                            "required": ["type", "name"],
                        },
                        {
                            "type": "object",
                            "properties": {"type": {"const": "ref/resource"}, "uri": {"type": "string"}},
                            "required": ["type", "uri"],
                        },
                    ]},
                    "argument": {
                        "type": "object",
                        "properties": {"name": {"type": "string"}, "value": {"type": "string"}},
                        "required": ["name", "value"],
                    },
                    "context": {
                        "type": "object",
                        "properties": {
                            "arguments": {"type": "object", "additionalProperties": {"type": "string"}},
                        },
                    },
                },
                "required": ["ref", "argument"],
                "additionalProperties": false,
            }),
        }
    }

    /// Creates the tool for the method in a namespace.
    pub(crate) fn tool(self, namespace: &str) -> Result<Tool, NameError> {
        let tool = Tool::new(QualifiedName::new(namespace, self.tool_name())?)
            .with_description(self.description())
            .with_parameters(self.parameters());
        let tool = tool.with_risk(Risk::Low).with_metadata(Tool::PROTOCOL_METHOD, self.as_str());
        Ok(tool.with_metadata("idempotent", true))
    }

    /// Returns the request for a call, with the request state and the input responses of the previous round, if any. A
    /// URI may be the qualified one, under which other parts of the runtime know a resource of this namespace.
    pub(crate) fn request(
        self,
        arguments: &JsonObject,
        namespace: &str,
        state: Option<String>,
        answers: Option<InputResponses>,
    ) -> ClientRequest {
        let text = |key: &str| arguments.get(key).and_then(Value::as_str).map(str::to_owned);
        let page = || PaginatedRequestParams::default().with_cursor(text("cursor"));
        match self {
            Self::ListResources => {
                ClientRequest::ListResourcesRequest(ListResourcesRequest::with_param(page()))
            }
            Self::ListResourceTemplates => {
                ClientRequest::ListResourceTemplatesRequest(ListResourceTemplatesRequest::with_param(page()))
            }
            Self::ListPrompts => ClientRequest::ListPromptsRequest(ListPromptsRequest::with_param(page())),
            Self::ReadResource => {
                let mut params =
                    ReadResourceRequestParams::new(server_uri(&text("uri").unwrap_or_default(), namespace));
                (params.request_state, params.input_responses) = (state, answers);
                ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params))
            }
            Self::GetPrompt => {
                let mut params = GetPromptRequestParams::new(text("name").unwrap_or_default());
                params.arguments = arguments.get("arguments").and_then(Value::as_object).cloned();
                (params.request_state, params.input_responses) = (state, answers);
                ClientRequest::GetPromptRequest(GetPromptRequest::new(params))
            }
            Self::Complete => {
                let params = CompleteRequestParams::deserialize(Value::Object(arguments.clone()));
                // The schema of the tool lets nothing else through. No prompt has an empty name.
                let params = params.unwrap_or_else(|_| {
                    CompleteRequestParams::new(Reference::for_prompt(""), ArgumentInfo::new("", ""))
                });
                ClientRequest::CompleteRequest(CompleteRequest::new(params))
            }
        }
    }
}

/// Returns the tools for the resources, prompts and completions of a server.
pub(crate) fn tools(source: &McpSource, server: &ServerInfo, changes: Changes) -> Vec<Tool> {
    let tools =
        ServerMethod::ALL.into_iter().filter(|method| method.is_supported_by(server)).filter_map(|method| {
            let mut tool = method.tool(&source.namespace).ok()?;
            if !method.is_for_models(server) {
                tool = tool.with_metadata("for_models", false);
            }
            if method == ServerMethod::ReadResource && server.subscribes {
                tool = tool.with_metadata(Tool::WATCHABLE, true);
            }
            let changes = method.changes(changes);
            Some(if changes > 0 { tool.with_metadata(CHANGES, changes) } else { tool })
        });
    tools.collect()
}

/// Asks a server that may have resources and prompts whether it lists any, so that it gets no useless tools. A server
/// that does not answer within [`ASK_TIMEOUT`] is assumed to have them.
pub(crate) async fn detect_support(session: &Arc<Session>, server: &mut ServerInfo) {
    let lists_apps = AtomicBool::new(false);
    let lists_any = async |method: ServerMethod, may_have: bool| {
        if !may_have {
            return false;
        }
        let request = method.request(&JsonObject::new(), "", None, None);
        match timeout(ASK_TIMEOUT, session.request(request, None)).await {
            Ok(Ok(ServerResult::ListResourcesResult(page))) => {
                let is_app = |resource: &Resource| resource.uri.starts_with(APP_SCHEME);
                lists_apps.store(page.resources.iter().any(is_app), Ordering::Relaxed);
                !page.resources.iter().all(is_app) || page.next_cursor.is_some()
            }
            Ok(Ok(ServerResult::ListResourceTemplatesResult(page))) => {
                !page.resource_templates.is_empty() || page.next_cursor.is_some()
            }
            Ok(Ok(ServerResult::ListPromptsResult(page))) => {
                !page.prompts.is_empty() || page.next_cursor.is_some()
            }
            Ok(Err(RequestError::Rpc(error))) => error.code != ErrorCode::METHOD_NOT_FOUND,
            _ => true,
        }
    };
    let ServerInfo { has_resources, has_templates, has_prompts, .. } = *server;
    let (resources, templates, prompts) = tokio::join!(
        lists_any(ServerMethod::ListResources, has_resources),
        lists_any(ServerMethod::ListResourceTemplates, has_templates),
        lists_any(ServerMethod::ListPrompts, has_prompts),
    );
    (server.has_resources, server.has_templates, server.has_prompts) = (resources, templates, prompts);
    server.has_apps |= lists_apps.into_inner();
}

/// Returns the result of a method; `None` if the response is of another kind.
pub(crate) fn result(answer: ServerResult, namespace: &str) -> Option<Value> {
    match answer {
        ServerResult::ListResourcesResult(page) => page_value("resources", &page.resources, page.next_cursor),
        ServerResult::ListResourceTemplatesResult(page) => {
            page_value("resourceTemplates", &page.resource_templates, page.next_cursor)
        }
        ServerResult::ListPromptsResult(page) => page_value("prompts", &page.prompts, page.next_cursor),
        ServerResult::CompleteResult(CompleteResult { completion, .. }) => {
            serde_json::to_value(completion).ok().map(|completion| json!({"completion": completion}))
        }
        ServerResult::ReadResourceResult(ReadResourceResult { contents, .. }) => {
            Some(contents_value(contents))
        }
        ServerResult::GetPromptResult(GetPromptResult { description, messages, .. }) => {
            let messages: Vec<Value> = messages
                .into_iter()
                .map(|message| {
                    let role = serde_json::to_value(message.role).unwrap_or_default();
                    let content = match message.content {
                        ContentBlock::Text(text) => Value::String(text.text),
                        other => block(other, namespace),
                    };
                    json!({"role": role, "content": content})
                })
                .collect();
            Some(json!({"description": description, "messages": messages}))
        }
        _ => None,
    }
}

fn page_value<T: serde::Serialize>(key: &str, items: &[T], next: Option<String>) -> Option<Value> {
    let mut page = JsonObject::new();
    page.insert(key.to_owned(), serde_json::to_value(items).ok()?);
    page.extend(next.map(|next| ("nextCursor".to_owned(), Value::String(next))));
    Some(Value::Object(page))
}

/// Returns the contents of a resource: only the text, if it is the only item.
fn contents_value(mut contents: Vec<ResourceContents>) -> Value {
    match contents.as_mut_slice() {
        [ResourceContents::TextResourceContents { text, .. }] => Value::String(std::mem::take(text)),
        _ => serde_json::to_value(contents).unwrap_or_default(),
    }
}
