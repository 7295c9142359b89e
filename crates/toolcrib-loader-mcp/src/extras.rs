//! Resources and prompts of a server, as tools of its namespace.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    ArgumentInfo, ClientRequest, CompleteRequest, CompleteRequestParams, CompleteResult, ContentBlock,
    ErrorCode, GetPromptRequest, GetPromptRequestParams, GetPromptResult, InputResponses, ListPromptsRequest,
    ListResourceTemplatesRequest, ListResourcesRequest, PaginatedRequestParams, ReadResourceRequest,
    ReadResourceRequestParams, ReadResourceResult, Reference, ResourceContents, ServerResult,
};
use serde::Deserialize as _;
use serde_json::{Value, json};
use tokio::time::timeout;
use toolcrib_model::{JsonObject, NameError, QualifiedName, Risk, Tool};

use crate::McpSource;
use crate::catalog::Server;
use crate::handler::Changes;
use crate::result::{block, own};
use crate::session::{Fault, Session};

/// How long a server may take to say whether it has resources and prompts.
const ASK_TIMEOUT: Duration = Duration::from_secs(2);

/// The metadata by which the engine knows these tools.
const METHOD: &str = "mcp_method";

/// The metadata of the tools that list something: how often the server has said that what it lists has changed. By it whoever
/// keeps such a list sees that it is an old one.
const CHANGES: &str = "mcp_changes";

/// One of the requests that are no tools of the server's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extra {
    ListResources,
    ListResourceTemplates,
    ReadResource,
    ListPrompts,
    GetPrompt,
    Complete,
}

impl Extra {
    const ALL: [Self; 6] = [
        Self::ListResources,
        Self::ListResourceTemplates,
        Self::ReadResource,
        Self::ListPrompts,
        Self::GetPrompt,
        Self::Complete,
    ];

    /// What a tool asks for, when it is one of these.
    pub(crate) fn of(tool: &Tool) -> Option<Self> {
        let method = tool.metadata.get(METHOD)?.as_str()?;
        Self::ALL.into_iter().find(|extra| extra.method() == method)
    }

    pub(crate) fn method(self) -> &'static str {
        match self {
            Self::ListResources => "resources/list",
            Self::ListResourceTemplates => "resources/templates/list",
            Self::ReadResource => "resources/read",
            Self::ListPrompts => "prompts/list",
            Self::GetPrompt => "prompts/get",
            Self::Complete => "completion/complete",
        }
    }

    /// Whether the server has anything for it.
    fn is_of_use(self, server: &Server) -> bool {
        match self {
            Self::ListResources => server.has_resources,
            Self::ListResourceTemplates => server.has_templates,
            Self::ReadResource => server.has_resources || server.has_templates,
            Self::ListPrompts | Self::GetPrompt => server.has_prompts,
            Self::Complete => server.completes && (server.has_prompts || server.has_templates),
        }
    }

    /// Returns how often what it lists has changed; never for one that lists nothing.
    fn changes(self, changes: Changes) -> u64 {
        match self {
            Self::ListResources | Self::ListResourceTemplates => changes.resources,
            Self::ListPrompts => changes.prompts,
            Self::ReadResource | Self::GetPrompt | Self::Complete => 0,
        }
    }

    fn name(self) -> &'static str {
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

    /// The tool in a namespace that stands for it.
    pub(crate) fn tool(self, namespace: &str) -> Result<Tool, NameError> {
        let tool = Tool::new(QualifiedName::new(namespace, self.name())?)
            .with_description(self.description())
            .with_parameters(self.parameters());
        let tool = tool.with_risk(Risk::Low).with_metadata(METHOD, self.method());
        let tool = tool.with_metadata("idempotent", true);
        Ok(if self == Self::Complete { tool.with_metadata("for_models", false) } else { tool })
    }

    /// The request that a call means, with what the server has handed back and asked for before, where it has. An address
    /// may be that under which others know a resource of the server of this namespace.
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
                    ReadResourceRequestParams::new(own(&text("uri").unwrap_or_default(), namespace));
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
                // What the schema lets through can be read; no prompt is without a name.
                let params = params.unwrap_or_else(|_| {
                    CompleteRequestParams::new(Reference::for_prompt(""), ArgumentInfo::new("", ""))
                });
                ClientRequest::CompleteRequest(CompleteRequest::new(params))
            }
        }
    }
}

/// The tools by which what the server has besides its tools is listed and read.
pub(crate) fn tools(source: &McpSource, server: &Server, changes: Changes) -> Vec<Tool> {
    let tools = Extra::ALL.into_iter().filter(|extra| extra.is_of_use(server)).filter_map(|extra| {
        let tool = extra.tool(&source.namespace).ok()?;
        let changes = extra.changes(changes);
        Some(if changes > 0 { tool.with_metadata(CHANGES, changes) } else { tool })
    });
    tools.collect()
}

/// Asks a server that may have resources and prompts whether it lists any, so that there are no tools for what it has not.
/// One that does not say within [`ASK_TIMEOUT`] is taken to have them.
pub(crate) async fn ask(session: &Arc<Session>, server: &mut Server) {
    let lists_any = async |extra: Extra, may_have: bool| {
        if !may_have {
            return false;
        }
        let request = extra.request(&JsonObject::new(), "", None, None);
        match timeout(ASK_TIMEOUT, session.request(request, None)).await {
            Ok(Ok(ServerResult::ListResourcesResult(page))) => {
                !page.resources.is_empty() || page.next_cursor.is_some()
            }
            Ok(Ok(ServerResult::ListResourceTemplatesResult(page))) => {
                !page.resource_templates.is_empty() || page.next_cursor.is_some()
            }
            Ok(Ok(ServerResult::ListPromptsResult(page))) => {
                !page.prompts.is_empty() || page.next_cursor.is_some()
            }
            Ok(Err(Fault::Rpc(error))) => error.code != ErrorCode::METHOD_NOT_FOUND,
            _ => true,
        }
    };
    let Server { has_resources, has_templates, has_prompts, .. } = *server;
    let (resources, templates, prompts) = tokio::join!(
        lists_any(Extra::ListResources, has_resources),
        lists_any(Extra::ListResourceTemplates, has_templates),
        lists_any(Extra::ListPrompts, has_prompts),
    );
    (server.has_resources, server.has_templates, server.has_prompts) = (resources, templates, prompts);
}

/// What the server answered, as a result; `None` when it is none of these.
pub(crate) fn result(answer: ServerResult, namespace: &str) -> Option<Value> {
    match answer {
        ServerResult::ListResourcesResult(page) => listed("resources", &page.resources, page.next_cursor),
        ServerResult::ListResourceTemplatesResult(page) => {
            listed("resourceTemplates", &page.resource_templates, page.next_cursor)
        }
        ServerResult::ListPromptsResult(page) => listed("prompts", &page.prompts, page.next_cursor),
        ServerResult::CompleteResult(CompleteResult { completion, .. }) => {
            serde_json::to_value(completion).ok().map(|completion| json!({"completion": completion}))
        }
        ServerResult::ReadResourceResult(ReadResourceResult { contents, .. }) => Some(contents_of(contents)),
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

fn listed<T: serde::Serialize>(key: &str, items: &[T], next: Option<String>) -> Option<Value> {
    let mut page = JsonObject::new();
    page.insert(key.to_owned(), serde_json::to_value(items).ok()?);
    page.extend(next.map(|next| ("nextCursor".to_owned(), Value::String(next))));
    Some(Value::Object(page))
}

/// The text alone where there is nothing else.
fn contents_of(mut contents: Vec<ResourceContents>) -> Value {
    match contents.as_mut_slice() {
        [ResourceContents::TextResourceContents { text, .. }] => Value::String(std::mem::take(text)),
        _ => serde_json::to_value(contents).unwrap_or_default(),
    }
}
