//! A Chat Completions server whose model calls a tool in each turn until the run ends.

use std::error::Error;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::body::{Body, Bytes};
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use axum::routing::post;
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// The lengths of the start and the end of a request that are searched for the tools and the tool choice.
const HEAD_BYTES: usize = 200;
const TAIL_BYTES: usize = 40;

/// The bytes per token of this model.
const BYTES_PER_TOKEN: usize = 4;

/// The total bytes of requests received.
static RECEIVED: AtomicU64 = AtomicU64::new(0);

/// The number of calls made. All calls differ.
static CALLS: AtomicU64 = AtomicU64::new(0);

/// Returns the bytes of requests since the last time, and resets the count of calls.
pub(crate) fn received() -> u64 {
    CALLS.store(0, Ordering::Relaxed);
    RECEIVED.swap(0, Ordering::Relaxed)
}

/// Starts the server on a free port, in a thread that ends with the program. Returns its base URL.
pub(crate) fn open(tool: String) -> Result<String, Box<dyn Error>> {
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let answer = move |body: Bytes| std::future::ready(answer(&body, &tool));
            // The limit on the length of a request is not measured.
            let routes = axum::Router::new()
                .route("/v1/chat/completions", post(answer))
                .layer(axum::extract::DefaultBodyLimit::disable());
            let listener = TcpListener::bind("127.0.0.1:0").await?;
            let base = format!("http://{}/v1", listener.local_addr()?);
            // Sending fails only if the bench has ended.
            let _ = sender.send(base);
            axum::serve(listener, routes).await
        })
    });
    Ok(receiver.recv()?)
}

fn answer(request: &[u8], tool: &str) -> Response {
    RECEIVED.fetch_add(request.len() as u64, Ordering::Relaxed);
    let has = |part: &[u8], text: &[u8]| part.windows(text.len()).any(|window| window == text);
    let head = request.get(..HEAD_BYTES.min(request.len())).unwrap_or_default();
    let tail = request.get(request.len().saturating_sub(TAIL_BYTES)..).unwrap_or_default();
    let may_call = has(head, b"\"tools\":") && !has(tail, b"\"tool_choice\":\"none\"");
    let pieces = if may_call { call(tool) } else { text() };
    let tokens = request.len() / BYTES_PER_TOKEN;
    let usage = json!({"prompt_tokens": tokens, "completion_tokens": 20, "total_tokens": tokens + 20});
    let mut events = String::new();
    for piece in pieces.into_iter().map(|piece| event(&json!([piece]), &Value::Null)) {
        events.push_str(&piece);
    }
    events.push_str(&event(&json!([]), &usage));
    events.push_str("data: [DONE]\n\n");
    let mut response = Response::new(Body::from(events));
    response.headers_mut().insert(CONTENT_TYPE, axum::http::HeaderValue::from_static("text/event-stream"));
    response
}

fn call(tool: &str) -> Vec<Value> {
    let number = CALLS.fetch_add(1, Ordering::Relaxed);
    let first = json!({
        "role": "assistant",
        "tool_calls": [{"index": 0, "id": format!("call-{number}"), "type": "function",
            "function": {"name": tool, "arguments": ""}}],
    });
    let more = |text: &str| json!({"tool_calls": [{"index": 0, "function": {"arguments": text}}]});
    let pieces =
        [first, more("{\"number\":"), more(&number.to_string()), more(",\"text\":\"a line"), more("\"}")];
    let mut pieces: Vec<Value> = pieces.into_iter().map(|delta| choice(&delta, None)).collect();
    pieces.push(choice(&json!({}), Some("tool_calls")));
    pieces
}

fn text() -> Vec<Value> {
    let said = json!({"role": "assistant", "content": "It was about many lines, of which all were read."});
    vec![choice(&said, None), choice(&json!({}), Some("stop"))]
}

fn choice(delta: &Value, finish_reason: Option<&str>) -> Value {
    json!({"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish_reason})
}

fn event(choices: &Value, usage: &Value) -> String {
    let piece = json!({
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": "bench",
        "choices": choices, "usage": usage,
    });
    format!("data: {piece}\n\n")
}
