//! Requests of a tool to the runtime, on behalf of its call.

use bytes::Bytes;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use toolcrib_document::nearest;
use toolcrib_model::{ErrorKind, JsonObject, ToolCall, ToolError};
use toolcrib_port::CallContext;

use super::protocol::{Outgoing, RequestMessage};

/// The supported methods.
const METHODS: [&str; 3] = ["list_tools", "get_tool", "run_tool"];

#[derive(Deserialize)]
struct ListTools {
    module: Option<String>,
    #[serde(default = "yes")]
    user_selectable_only: bool,
}

fn yes() -> bool {
    true
}

#[derive(Deserialize)]
struct GetTool {
    name: String,
}

#[derive(Deserialize)]
struct RunTool {
    name: String,
    #[serde(default)]
    arguments: JsonObject,
}

/// Serves a request with the rights, depth and deadline of the call, and returns the reply as a line.
pub(super) async fn reply(request: RequestMessage, context: &CallContext) -> Option<Bytes> {
    let id = request.id;
    let line = match perform(request, context).await {
        Ok(value) => Outgoing::Reply { id, value: &value }.line(),
        Err(error) => Outgoing::Refusal { id, error: &error }.line(),
    };
    line.or_else(|error| Outgoing::Refusal { id, error: &error }.line()).ok()
}

async fn perform(request: RequestMessage, context: &CallContext) -> Result<Value, ToolError> {
    let method = request.method.as_str();
    let caller = context.caller.as_ref().ok_or_else(|| {
        ToolError::new(
            ErrorKind::Unavailable,
            "this call cannot reach other tools: nothing runs it but a test",
        )
    })?;
    match method {
        "list_tools" => {
            let ListTools { module, user_selectable_only } = params(method, request.params)?;
            let mut tools = caller.catalogue().visible_tools(context);
            tools.retain(|tool| {
                module.as_deref().is_none_or(|module| tool.name.namespace() == module)
                    && (!user_selectable_only || !tool.traits().unlisted)
            });
            json(&tools.iter().map(AsRef::as_ref).collect::<Vec<&toolcrib_model::Tool>>())
        }
        "get_tool" => {
            let GetTool { name } = params(method, request.params)?;
            let found = caller.catalogue().find_tools(&name, context)?;
            let unknown = || ToolError::new(ErrorKind::UnknownTool, format!("there is no tool `{name}`"));
            json(found.first().ok_or_else(unknown)?.as_ref())
        }
        "run_tool" => {
            let RunTool { name, arguments } = params(method, request.params)?;
            let result = caller.call(ToolCall::new(name, arguments), context).await;
            result.error.map_or(Ok(result.result), Err)
        }
        _ => {
            let suggestion = nearest(method, METHODS).map(|name| format!("; did you mean `{name}`?"));
            let message = format!("there is no method `{method}`{}", suggestion.unwrap_or_default());
            Err(ToolError::new(ErrorKind::InvalidArgs, message))
        }
    }
}

fn params<T: DeserializeOwned>(method: &str, params: Value) -> Result<T, ToolError> {
    serde_json::from_value(params).map_err(|error| {
        ToolError::new(ErrorKind::InvalidArgs, format!("the `params` of `{method}`: {error}"))
    })
}

fn json(value: &impl serde::Serialize) -> Result<Value, ToolError> {
    serde_json::to_value(value).map_err(|error| ToolError::new(ErrorKind::Internal, error.to_string()))
}
