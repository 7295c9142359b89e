//! Parsing of server messages, including those that are not valid JSON.
//!
//! A lone surrogate, `NaN` or too deep a structure makes a whole message unreadable, and its request would wait for the
//! deadline. So an unreadable response becomes an error for its request, and an unreadable entry of a tool list affects
//! only that tool.
//!
//! The request is identified by the id of the message. If the id of a response cannot be found, the response belongs to
//! the only pending request, if there is exactly one. If there are several, none of them fails, since all but one still
//! get a response; the case is logged.

use std::collections::HashSet;

use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ErrorCode, ErrorData, JsonRpcError, JsonRpcMessage, RequestId,
    ServerJsonRpcMessage,
};
use serde_json::{Map, Value, json};

use crate::text::{MAX_ERROR_CHARS, clean};
use crate::transport::json_scanner::{elements, members};

/// The error code that replaces an unreadable response. It is outside of the range that JSON-RPC reserves.
const UNREADABLE: ErrorCode = ErrorCode(i32::MIN);

/// The key, in the entry of a tool, for the reason that the tool cannot be read.
const UNREADABLE_ENTRY: &str = "toolcrib/unreadable";

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// The requests that wait for a response.
#[derive(Debug, Default)]
pub(crate) struct PendingRequests {
    ids: HashSet<RequestId>,
}

impl PendingRequests {
    /// Returns the request in this message, if it contains one.
    pub(crate) fn of(message: &ClientJsonRpcMessage) -> Self {
        let mut pending = Self::default();
        pending.note_sent(message);
        pending
    }

    /// Returns the text of a message that rmcp can parse, if this one is a response that it cannot.
    pub(crate) fn readable(&mut self, text: String) -> String {
        let is_readable = |text: &str| serde_json::from_str::<ServerJsonRpcMessage>(text).is_ok();
        if is_readable(&text) {
            return text;
        }
        let Some(message) = self.read(text.as_bytes()) else { return text };
        let id = match &message {
            JsonRpcMessage::Response(response) => Some(response.id.clone()),
            _ => None,
        };
        match serde_json::to_string(&message).ok().filter(|text| is_readable(text)) {
            Some(readable) => readable,
            // The tools are as deeply nested as allowed, so the message around them is nested too deeply.
            None => serde_json::to_string(&failed("too deep", id)).unwrap_or(text),
        }
    }

    /// Records a message to the server.
    pub(crate) fn note_sent(&mut self, message: &ClientJsonRpcMessage) {
        match message {
            JsonRpcMessage::Request(request) => _ = self.ids.insert(request.id.clone()),
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.ids.remove(id);
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
    }

    /// Parses a message of the server. Returns `None` for text that is not a message, such as a line of a log.
    pub(crate) fn read(&mut self, text: &[u8]) -> Option<ServerJsonRpcMessage> {
        let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text).trim_ascii();
        if text.is_empty() {
            return None;
        }
        let message = match serde_json::from_slice(text) {
            Ok(JsonRpcMessage::Error(mut error)) => {
                if error.id.is_none() && is_about_a_request(&error.error) {
                    error.id = self.only();
                }
                JsonRpcMessage::Error(error)
            }
            Ok(message) => message,
            Err(error) => self.salvage(text, &error)?,
        };
        match &message {
            JsonRpcMessage::Response(response) => self.forget(&response.id),
            JsonRpcMessage::Error(JsonRpcError { id: Some(id), .. }) => self.forget(id),
            _ => {}
        }
        Some(message)
    }

    /// Recovers what is usable of an unreadable response.
    fn salvage(&self, text: &[u8], error: &serde_json::Error) -> Option<ServerJsonRpcMessage> {
        if let Ok(value) = serde_json::from_slice::<Value>(text) {
            return self.unrecognized(&value, error);
        }
        let members = members(text);
        let member = |name: &str| members.iter().find(|(key, _)| key == name).map(|(_, value)| *value);
        if member("method").is_some() {
            tracing::debug!(%error, "MCP server sent a request or notification that cannot be read");
            return None;
        }
        if member("result").or(member("error")).is_none() {
            tracing::debug!(%error, "MCP server wrote a line that is not a message");
            return None;
        }
        let id = if let Some(id) = member("id").and_then(|id| serde_json::from_slice(id).ok()) {
            self.waiting_under(id)?
        } else if let Some(id) = self.only() {
            id
        } else {
            let waiting = self.ids.len();
            tracing::warn!(%error, waiting, "MCP server sent an unreadable answer to an unknown request");
            return None;
        };
        let whole = member("result").and_then(without_unreadable_tools);
        let whole = whole.map(|result| json!({"jsonrpc": "2.0", "id": id, "result": result}));
        if let Some(Ok(message)) = whole.map(serde_json::from_value) {
            return Some(message);
        }
        let part = member("result").or(member("error"));
        let reason = part.map_or_else(|| error.to_string(), |part| reason(part, error));
        Some(failed(&reason, Some(id)))
    }

    /// Returns the error for valid JSON that is not a valid message, if it has the id of a pending request and so can
    /// only be its response. Everything else is ignored.
    fn unrecognized(&self, value: &Value, error: &serde_json::Error) -> Option<ServerJsonRpcMessage> {
        let is_ours =
            value.get("jsonrpc").and_then(Value::as_str) == Some("2.0") && value.get("method").is_none();
        let id = value.get("id").filter(|_| is_ours).cloned();
        let id = id.and_then(|id| serde_json::from_value::<RequestId>(id).ok());
        let Some(id) = id.filter(|id| self.ids.contains(id)) else {
            tracing::debug!(%error, "MCP server wrote JSON that is not a message");
            return None;
        };
        Some(failed(&error.to_string(), Some(id)))
    }

    fn forget(&mut self, id: &RequestId) {
        if let Some(id) = self.waiting_under(id.clone()) {
            self.ids.remove(&id);
        }
    }

    /// Returns the pending request with this id. Some servers return a numeric id as a string.
    fn waiting_under(&self, id: RequestId) -> Option<RequestId> {
        if self.ids.contains(&id) {
            return Some(id);
        }
        let RequestId::String(text) = &id else { return None };
        let number = RequestId::Number(text.parse().ok()?);
        self.ids.contains(&number).then_some(number)
    }

    /// Returns the pending request, if there is exactly one.
    fn only(&self) -> Option<RequestId> {
        let mut ids = self.ids.iter();
        ids.next().filter(|_| ids.next().is_none()).cloned()
    }
}

/// Returns the error that replaces an unreadable response.
fn failed(reason: &str, id: Option<RequestId>) -> ServerJsonRpcMessage {
    let message = format!("its answer cannot be read: {reason}");
    ServerJsonRpcMessage::error(ErrorData::new(UNREADABLE, message, None), id)
}

/// Returns the reason that a response could not be read, if the error replaces one.
pub(crate) fn unreadable(error: &ErrorData) -> Option<&str> {
    (error.code == UNREADABLE).then_some(error.message.as_ref())
}

/// Returns the reason that a tool could not be read, if the entry replaces one.
pub(crate) fn unreadable_entry(entry: &Value) -> Option<&str> {
    entry.get(UNREADABLE_ENTRY)?.as_str()
}

/// Returns true if an error without an id answers a request that the server could not read. Some servers answer
/// notifications with errors of other codes.
fn is_about_a_request(error: &ErrorData) -> bool {
    matches!(error.code, ErrorCode::PARSE_ERROR | ErrorCode::INVALID_REQUEST)
}

/// Parses a `tools/list` result one tool at a time. Returns `None` for results of another kind, and if the cursor of
/// the next page is unreadable.
fn without_unreadable_tools(result: &[u8]) -> Option<Value> {
    let mut page = Map::new();
    let mut has_tools = false;
    for (key, value) in members(result) {
        if key == "tools" {
            has_tools = true;
            page.insert(key, elements(value)?.into_iter().map(tool).collect());
        } else if let Ok(value) = serde_json::from_slice(value) {
            page.insert(key, value);
        } else if key == "nextCursor" {
            return None;
        }
    }
    has_tools.then_some(Value::Object(page))
}

/// Parses the entry of a tool. Returns a replacement with the reason if it is unreadable.
fn tool(entry: &[u8]) -> Value {
    let error = match serde_json::from_slice(entry) {
        Ok(entry) => return entry,
        Err(error) => error,
    };
    let mut unreadable = Map::new();
    let name = members(entry).into_iter().find(|(key, _)| key == "name");
    if let Some(name) = name.and_then(|(_, name)| serde_json::from_slice(name).ok()) {
        unreadable.insert("name".to_owned(), name);
    }
    let reason = clean(&format!("it cannot be read: {error}"), MAX_ERROR_CHARS);
    unreadable.insert(UNREADABLE_ENTRY.to_owned(), reason.into());
    Value::Object(unreadable)
}

/// Returns the reason that a part of a message cannot be read. If the part is valid JSON, that is the error of the
/// whole message.
fn reason(part: &[u8], whole: &serde_json::Error) -> String {
    match serde_json::from_slice::<Value>(part) {
        Err(error) => error.to_string(),
        Ok(_) => whole.to_string(),
    }
}
