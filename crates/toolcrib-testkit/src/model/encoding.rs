//! The encoding of a turn, whole or streamed.

use axum::Json;
use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures::{StreamExt as _, stream};
use serde_json::{Value, json};

use super::turn::Turn;

/// The characters of text or arguments in one event.
const CHARS_PER_EVENT: usize = 7;

/// The bytes of the stream in one frame. Frames respect neither events nor characters, as on a network.
const BYTES_PER_FRAME: usize = 61;

/// The reported prompt tokens of each turn.
const PROMPT_TOKENS: u64 = 100;
const COMPLETION_TOKENS: u64 = 10;

/// Returns the answer to a request for turn `number`, from 1.
pub(super) fn answer(turn: &Turn, number: usize, request: &Value) -> Response {
    let model = request.get("model").cloned().unwrap_or_default();
    if request.get("stream") == Some(&Value::Bool(true)) {
        let wants_usage = request.pointer("/stream_options/include_usage") == Some(&Value::Bool(true));
        return streamed(turn, number, &model, wants_usage);
    }
    let mut message = json!({"role": "assistant", "content": turn.text});
    if !turn.calls.is_empty() {
        let calls: Value = calls(turn, number).collect();
        if let Some(message) = message.as_object_mut() {
            message.insert("tool_calls".to_owned(), calls);
        }
    }
    let choice = json!({"index": 0, "message": message, "finish_reason": finish_reason(turn)});
    Json(json!({
        "id": format!("chatcmpl-{number}"),
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [choice],
        "usage": usage(),
    }))
    .into_response()
}

/// Returns an error in the form of the API.
pub(super) fn refused(status: u16, message: &str) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let body = json!({"error": {"message": message, "type": "invalid_request_error"}});
    // Tests need not wait.
    (status, [(header::RETRY_AFTER, "0")], Json(body)).into_response()
}

fn streamed(turn: &Turn, number: usize, model: &Value, wants_usage: bool) -> Response {
    let event = |choices: Value, usage: Value| {
        let chunk = json!({
            "id": format!("chatcmpl-{number}"),
            "object": "chat.completion.chunk",
            "created": 0,
            "model": model,
            "choices": choices,
            "usage": usage,
        });
        format!("data: {chunk}\n\n")
    };
    let part = |delta: Value, finish: Value| {
        event(json!([{"index": 0, "delta": delta, "finish_reason": finish}]), Value::Null)
    };
    let deltas = deltas(turn, number).into_iter().map(|delta| part(delta, Value::Null));
    if turn.is_cut {
        // The role, and the first piece of the content.
        return event_stream(&deltas.take(2).collect::<String>(), true);
    }
    let mut text: String = deltas.collect();
    text.push_str(&part(json!({}), finish_reason(turn).into()));
    if wants_usage {
        text.push_str(&event(json!([]), usage()));
    }
    text.push_str("data: [DONE]\n\n");
    event_stream(&text, false)
}

fn event_stream(text: &str, is_cut: bool) -> Response {
    let mut frames: Vec<_> =
        text.as_bytes().chunks(BYTES_PER_FRAME).map(Bytes::copy_from_slice).map(Ok).collect();
    if is_cut {
        frames.push(Err("cut off"));
    }
    // Each frame is sent before the next one, in particular before the one that ends the connection.
    let frames = stream::iter(frames).then(|frame| async {
        tokio::task::yield_now().await;
        frame
    });
    ([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(frames)).into_response()
}

/// Returns the deltas of the message: its role, its text piece by piece, then each call.
fn deltas(turn: &Turn, number: usize) -> Vec<Value> {
    let mut deltas = vec![json!({"role": "assistant", "content": ""})];
    deltas.extend(pieces(&turn.text).map(|piece| json!({"content": piece})));
    for (index, call) in turn.calls.iter().enumerate() {
        let begin = json!({
            "index": index,
            "id": call_id(number, index),
            "type": "function",
            "function": {"name": call.name, "arguments": ""},
        });
        deltas.push(json!({"tool_calls": [begin]}));
        deltas.extend(
            pieces(&call.arguments)
                .map(|piece| json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})),
        );
    }
    deltas
}

fn pieces(text: &str) -> impl Iterator<Item = String> {
    let chars: Vec<char> = text.chars().collect();
    let pieces: Vec<String> = chars.chunks(CHARS_PER_EVENT).map(|piece| piece.iter().collect()).collect();
    pieces.into_iter()
}

fn calls(turn: &Turn, number: usize) -> impl Iterator<Item = Value> {
    turn.calls.iter().enumerate().map(move |(index, call)| {
        json!({
            "id": call_id(number, index),
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        })
    })
}

fn call_id(number: usize, index: usize) -> String {
    format!("call_{number}_{}", index + 1)
}

fn finish_reason(turn: &Turn) -> &'static str {
    if turn.calls.is_empty() { "stop" } else { "tool_calls" }
}

fn usage() -> Value {
    json!({
        "prompt_tokens": PROMPT_TOKENS,
        "completion_tokens": COMPLETION_TOKENS,
        "total_tokens": PROMPT_TOKENS + COMPLETION_TOKENS,
    })
}
