//! A message of JSON-RPC, read so that nobody behind us can read it in another way.

use rmcp::model::{ErrorCode, ErrorData};
use serde_json::{Value, json};
use toolcrib_document::{Format, Limits, parse};

/// Reads a message: one object, without a key that is there twice, not too deep. What is wrong otherwise, for the sender.
pub(crate) fn read(bytes: &[u8], max_bytes: usize) -> Result<Value, ErrorData> {
    let limits = Limits { max_bytes, ..Limits::default() };
    let document = parse(bytes, Format::Json, &limits).map_err(|error| {
        ErrorData::new(ErrorCode::PARSE_ERROR, format!("the message cannot be read: {error}"), None)
    })?;
    match document.value {
        value @ Value::Object(_) => Ok(value),
        Value::Array(_) => Err(ErrorData::invalid_request("messages come one by one, not as a batch", None)),
        _ => Err(ErrorData::invalid_request("a message is an object", None)),
    }
}

/// The id of a request, as a text by which two can be told apart; `None` for what is no request.
pub(crate) fn request_id(message: &Value) -> Option<String> {
    message.get("method")?;
    message.get("id").filter(|id| id.is_string() || id.is_number()).map(Value::to_string)
}

/// The id of the request that a message gives up.
pub(crate) fn cancelled_id(message: &Value) -> Option<String> {
    let is_cancelled = message.get("method")?.as_str()? == "notifications/cancelled";
    message.get("params")?.get("requestId").filter(|_| is_cancelled).map(Value::to_string)
}

/// An error that answers no request in particular, or the one with this id.
pub(crate) fn answer(id: Option<&Value>, error: &ErrorData) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": error.code.0, "message": error.message}})
}
