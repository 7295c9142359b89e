//! Requests with an unknown method or invalid parameters.

use rmcp::model::{
    CallToolRequestParams, CancelTaskParams, CompleteRequestParams, CustomRequest, ErrorCode, ErrorData,
    GetPromptRequestParams, GetTaskParams, PaginatedRequestParams, ReadResourceRequestParams,
    UpdateTaskParams,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// The maximum length of a method name in an error, in characters.
const MAX_METHOD_CHARS: usize = 80;

/// Returns the error for a request that could not be parsed.
pub(crate) fn refusal(request: &CustomRequest) -> ErrorData {
    let method: String = request.method.chars().take(MAX_METHOD_CHARS).collect();
    let params = request.params.clone().unwrap_or_else(|| json!({}));
    let problem = match method.as_str() {
        "tools/call" => call_problem(&params).or_else(|| problem::<CallToolRequestParams>(params)),
        "tools/list" | "prompts/list" | "resources/list" | "resources/templates/list" => {
            problem::<PaginatedRequestParams>(params)
        }
        "prompts/get" => call_problem(&params).or_else(|| problem::<GetPromptRequestParams>(params)),
        "resources/read" => problem::<ReadResourceRequestParams>(params),
        "completion/complete" => problem::<CompleteRequestParams>(params),
        "tasks/get" => problem::<GetTaskParams>(params),
        "tasks/update" => problem::<UpdateTaskParams>(params),
        "tasks/cancel" => problem::<CancelTaskParams>(params),
        _ => {
            return ErrorData::new(
                ErrorCode::METHOD_NOT_FOUND,
                format!("there is no method `{method}`"),
                None,
            );
        }
    };
    let problem = problem.unwrap_or_else(|| "they cannot be read".to_owned());
    ErrorData::invalid_params(format!("the parameters of `{method}` are wrong: {problem}"), None)
}

/// Returns the problem with a tool name and arguments.
fn call_problem(params: &Value) -> Option<String> {
    let found = |value: &Value| match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    };
    match params.get("name") {
        None => return Some("`name` is missing".to_owned()),
        Some(Value::String(_)) => {}
        Some(name) => return Some(format!("`name`: expected a string, found {}", found(name))),
    }
    match params.get("arguments") {
        None | Some(Value::Object(_)) => None,
        Some(other) => Some(format!("`arguments`: expected an object, found {}", found(other))),
    }
}

fn problem<T: DeserializeOwned>(params: Value) -> Option<String> {
    serde_json::from_value::<T>(params).err().map(|error| error.to_string())
}
