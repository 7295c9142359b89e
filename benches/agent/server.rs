//! A server of each wire format whose model calls a tool in each turn until the run ends.

use std::error::Error;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::body::{Body, Bytes};
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use axum::routing::post;
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// The length of the end of a request that is searched for the tool choice.
const TAIL_BYTES: usize = 50;

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
            let format = |answer: fn(&[u8], &str) -> String| {
                let tool = tool.clone();
                post(move |body: Bytes| std::future::ready(events(answer(&body, &tool))))
            };
            // The limit on the length of a request is not measured.
            let routes = axum::Router::new()
                .route("/v1/chat/completions", format(completion))
                .route("/v1/messages", format(message))
                .route("/v1/responses", format(response))
                .route("/v1/models/{model}", format(candidates))
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

/// Returns the response with the events of a stream.
fn events(events: String) -> Response {
    let mut response = Response::new(Body::from(events));
    response.headers_mut().insert(CONTENT_TYPE, axum::http::HeaderValue::from_static("text/event-stream"));
    response
}

/// Counts a request, and returns true if the model may call a tool.
fn may_call(request: &[u8], forbidden: &str) -> bool {
    RECEIVED.fetch_add(request.len() as u64, Ordering::Relaxed);
    let tail = request.get(request.len().saturating_sub(TAIL_BYTES)..).unwrap_or_default();
    !tail.windows(forbidden.len()).any(|window| window == forbidden.as_bytes())
}

/// Returns the pieces of the arguments of the next call, with its number.
fn arguments() -> (u64, [String; 4]) {
    let number = CALLS.fetch_add(1, Ordering::Relaxed);
    (number, ["{\"number\":".into(), number.to_string(), ",\"text\":\"a line".into(), "\"}".into()])
}

/// The text of the last answer.
const ANSWER: &str = "It was about many lines, of which all were read.";

fn data(value: &Value) -> String {
    format!("data: {value}\n\n")
}

fn message(request: &[u8], tool: &str) -> String {
    let tokens = request.len() / BYTES_PER_TOKEN;
    let usage = json!({"input_tokens": tokens, "output_tokens": 1});
    let start =
        json!({"type": "message_start", "message": {"type": "message", "content": [], "usage": usage}});
    let mut events = vec![start];
    let delta = |delta: Value| json!({"type": "content_block_delta", "index": 0, "delta": delta});
    let block = |block: Value| json!({"type": "content_block_start", "index": 0, "content_block": block});
    let reason = if may_call(request, "\"type\":\"none\"") {
        let (number, pieces) = arguments();
        events.push(block(
            json!({"type": "tool_use", "id": format!("call-{number}"), "name": tool, "input": {}}),
        ));
        let part = |piece: &String| delta(json!({"type": "input_json_delta", "partial_json": piece}));
        events.extend(pieces.iter().map(part));
        "tool_use"
    } else {
        events.push(block(json!({"type": "text", "text": ""})));
        events.push(delta(json!({"type": "text_delta", "text": ANSWER})));
        "end_turn"
    };
    events.push(json!({"type": "content_block_stop", "index": 0}));
    let usage = json!({"output_tokens": 20});
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}));
    events.push(json!({"type": "message_stop"}));
    events.iter().map(data).collect()
}

fn response(request: &[u8], tool: &str) -> String {
    let tokens = request.len() / BYTES_PER_TOKEN;
    let mut events = Vec::new();
    let item = if may_call(request, "\"tool_choice\":\"none\"") {
        let (number, pieces) = arguments();
        let call = |arguments: &str| json!({"type": "function_call", "call_id": format!("call-{number}"), "name": tool, "arguments": arguments});
        events.push(json!({"type": "response.output_item.added", "output_index": 0, "item": call("")}));
        events.extend(pieces.iter().map(|piece| {
            json!({"type": "response.function_call_arguments.delta", "output_index": 0, "delta": piece})
        }));
        call(&pieces.concat())
    } else {
        events.push(json!({"type": "response.output_text.delta", "output_index": 0, "delta": ANSWER}));
        json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": ANSWER}]})
    };
    events.push(json!({"type": "response.output_item.done", "output_index": 0, "item": item}));
    let usage = json!({"input_tokens": tokens, "output_tokens": 20});
    let response = json!({"status": "completed", "output": [item], "usage": usage});
    events.push(json!({"type": "response.completed", "response": response}));
    events.iter().map(data).collect()
}

fn candidates(request: &[u8], tool: &str) -> String {
    let tokens = request.len() / BYTES_PER_TOKEN;
    let part = if may_call(request, "\"NONE\"") {
        let (number, pieces) = arguments();
        let args: Value = serde_json::from_str(&pieces.concat()).unwrap_or_default();
        json!({"functionCall": {"id": format!("call-{number}"), "name": tool, "args": args}, "thoughtSignature": "c2ln"})
    } else {
        json!({"text": ANSWER})
    };
    let usage = json!({"promptTokenCount": tokens, "candidatesTokenCount": 20});
    let chunk = |candidate: Value| data(&json!({"candidates": [candidate], "usageMetadata": usage}));
    chunk(json!({"content": {"role": "model", "parts": [part]}}))
        + &chunk(json!({"content": {"role": "model", "parts": []}, "finishReason": "STOP"}))
}

fn completion(request: &[u8], tool: &str) -> String {
    let pieces = if may_call(request, "\"tool_choice\":\"none\"") { call(tool) } else { text() };
    let tokens = request.len() / BYTES_PER_TOKEN;
    let usage = json!({"prompt_tokens": tokens, "completion_tokens": 20, "total_tokens": tokens + 20});
    let mut events = String::new();
    for piece in pieces.into_iter().map(|piece| event(&json!([piece]), &Value::Null)) {
        events.push_str(&piece);
    }
    events.push_str(&event(&json!([]), &usage));
    events.push_str("data: [DONE]\n\n");
    events
}

fn call(tool: &str) -> Vec<Value> {
    let (number, pieces) = arguments();
    let first = json!({
        "role": "assistant",
        "tool_calls": [{"index": 0, "id": format!("call-{number}"), "type": "function",
            "function": {"name": tool, "arguments": ""}}],
    });
    let more = |text: &String| json!({"tool_calls": [{"index": 0, "function": {"arguments": text}}]});
    let pieces = std::iter::once(first).chain(pieces.iter().map(more));
    let mut pieces: Vec<Value> = pieces.map(|delta| choice(&delta, None)).collect();
    pieces.push(choice(&json!({}), Some("tool_calls")));
    pieces
}

fn text() -> Vec<Value> {
    let said = json!({"role": "assistant", "content": ANSWER});
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
