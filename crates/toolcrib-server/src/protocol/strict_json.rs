//! Strict parsing of JSON-RPC messages, so that no later parser can read them differently.

use rmcp::model::{ErrorCode, ErrorData};
use serde_json::{Value, json};
use toolcrib_document::{Format, Limits, parse};

/// Parses a message: one object, without duplicate keys, with limited depth. Returns an error for the sender otherwise.
pub(crate) fn read(bytes: &[u8], max_bytes: usize) -> Result<Value, ErrorData> {
    let limits = Limits { max_bytes, ..Limits::default() };
    let document = parse(bytes, Format::Json, &limits).map_err(|error| {
        ErrorData::new(ErrorCode::PARSE_ERROR, format!("the message cannot be read: {error}"), None)
    })?;
    match document.value {
        value @ Value::Object(_) => Ok(value),
        Value::Array(_) => Err(ErrorData::invalid_request("expected one message, found a batch", None)),
        _ => Err(ErrorData::invalid_request("expected an object as the message", None)),
    }
}

/// Returns the id of a request as a comparable text, or `None` if the message is not a request.
pub(crate) fn request_id(message: &Value) -> Option<String> {
    message.get("method")?;
    message.get("id").filter(|id| id.is_string() || id.is_number()).map(Value::to_string)
}

/// Returns the id of the request that a message cancels.
pub(crate) fn cancelled_id(message: &Value) -> Option<String> {
    let is_cancelled = message.get("method")?.as_str()? == "notifications/cancelled";
    message.get("params")?.get("requestId").filter(|_| is_cancelled).map(Value::to_string)
}

/// Returns an error message for the request with this id, or for no particular request.
pub(crate) fn answer(id: Option<&Value>, error: &ErrorData) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": error.code.0, "message": error.message}})
}
