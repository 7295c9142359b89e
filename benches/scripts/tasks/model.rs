//! A model server that solves the tasks without a mistake, but knows only what it has read.

use std::error::Error;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use axum::routing::post;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::cases::{Call, HANDLE, Task};

/// The answer of a model that has not read the facts that it needs.
pub(crate) const UNKNOWN: &str = "I do not know.";

/// The ways in which a model solves tasks.
#[derive(Clone, Copy)]
pub(crate) struct Mode {
    pub(crate) name: &'static str,
    /// True if it has to find tools by `search_tools`.
    pub(crate) discovery: bool,
    /// The tasks for which it writes scripts.
    pub(crate) scripts: Scripts,
}

/// The tasks for which a model writes scripts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scripts {
    Never,
    /// For those with many calls, dependent calls, or large results.
    Suitable,
    Always,
}

impl Mode {
    /// Returns true if the model solves this task by scripts.
    fn writes_scripts(self, task: &Task) -> bool {
        self.scripts == Scripts::Always || self.scripts == Scripts::Suitable && task.suits_scripts
    }
}

/// The requests and replies of one run.
#[derive(Default)]
pub(crate) struct Traffic {
    pub(crate) requests: Vec<Bytes>,
    pub(crate) replies: Vec<String>,
}

/// The server of a model that solves tasks in one mode.
#[derive(Clone)]
pub(crate) struct ModelServer {
    mode: Mode,
    task: Arc<Mutex<Option<Arc<Task>>>>,
    traffic: Arc<Mutex<Traffic>>,
}

impl ModelServer {
    /// Starts the server on a free port, and returns it with its base URL.
    pub(crate) async fn start(mode: Mode) -> Result<(Self, String), Box<dyn Error>> {
        let server = Self { mode, task: Arc::default(), traffic: Arc::default() };
        let shared = server.clone();
        let answer = move |body: Bytes| std::future::ready(shared.answer(body));
        let routes = axum::Router::new()
            .route("/v1/chat/completions", post(answer))
            .layer(axum::extract::DefaultBodyLimit::disable());
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let base = format!("http://{}/v1", listener.local_addr()?);
        tokio::spawn(async { axum::serve(listener, routes).await });
        Ok((server, base))
    }

    /// Sets the task of the next run.
    pub(crate) fn prepare(&self, task: Arc<Task>) {
        *self.task.lock() = Some(task);
        *self.traffic.lock() = Traffic::default();
    }

    /// Returns the traffic of the last run.
    pub(crate) fn take_traffic(&self) -> Traffic {
        std::mem::take(&mut self.traffic.lock())
    }

    fn answer(&self, body: Bytes) -> Response {
        let request: Value = serde_json::from_slice(&body).unwrap_or_default();
        let messages = request.get("messages").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let task = self.task.lock().clone();
        let message = task.map_or_else(|| text(UNKNOWN), |task| next(&task, self.mode, messages));
        let mut traffic = self.traffic.lock();
        traffic.requests.push(body);
        traffic.replies.push(message.to_string());
        let finish = if message.get("tool_calls").is_some() { "tool_calls" } else { "stop" };
        let events = format!(
            "{}{}data: [DONE]\n\n",
            event(&json!([{"index": 0, "delta": message, "finish_reason": null}])),
            event(&json!([{"index": 0, "delta": {}, "finish_reason": finish}])),
        );
        let mut response = Response::new(Body::from(events));
        let stream = axum::http::HeaderValue::from_static("text/event-stream");
        response.headers_mut().insert(CONTENT_TYPE, stream);
        response
    }
}

fn event(choices: &Value) -> String {
    let piece = json!({
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": "bench",
        "choices": choices,
    });
    format!("data: {piece}\n\n")
}

/// Returns the next message of the model.
fn next(task: &Task, mode: Mode, messages: &[Value]) -> Value {
    let of_role = |role: &'static str| messages.iter().filter(move |message| message["role"] == role);
    let mut turn = of_role("assistant").count();
    let results: Vec<&str> = of_role("tool").filter_map(|message| message["content"].as_str()).collect();
    let read = results.concat();
    // A search is a step of its own task.
    let is_search = task.turns.iter().flatten().any(|call| call.0.ends_with("search_tools"));
    if mode.discovery && !is_search {
        if turn == 0 {
            return calls(&[("context_builder.search_tools", json!({"query": task.query}))], mode, "");
        }
        let own = |call: &&Call| call.0.starts_with("shop.");
        if !task.turns.iter().flatten().filter(own).all(|call| read.contains(call.0)) {
            return text(UNKNOWN);
        }
        turn -= 1;
    }
    if mode.writes_scripts(task) {
        return script(task, mode, turn, results.last().copied().unwrap_or_default());
    }
    if !task.facts.iter().take(turn).flatten().all(|fact| read.contains(fact.as_str())) {
        return text(UNKNOWN);
    }
    let Some(next) = task.turns.get(turn) else { return text(&task.result.to_string()) };
    calls(next, mode, &read)
}

fn script(task: &Task, mode: Mode, turn: usize, last: &str) -> Value {
    if let Some(source) = task.scripts.get(turn) {
        return calls(&[("context_builder.run_script", json!({"source": source}))], mode, "");
    }
    // A line of facts may precede the result.
    let output: Option<Value> = last.lines().last().and_then(|line| serde_json::from_str(line).ok());
    let result = output.as_ref().and_then(|output| output.get("result"));
    text(&result.map_or_else(|| UNKNOWN.to_owned(), Value::to_string))
}

fn text(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

/// Returns a message with these calls. In discovery, the tools of the shop are called through `execute_tool`.
fn calls(calls: &[Call], mode: Mode, read: &str) -> Value {
    let call = |(index, (name, arguments)): (usize, &Call)| {
        let mut arguments = arguments.clone();
        if let Some(given) = arguments.get_mut("handle").filter(|given| **given == HANDLE) {
            *given = handle(read).into();
        }
        let built_in = name.strip_prefix("context_builder.");
        let (name, arguments) = match built_in {
            Some(name) => (name.to_owned(), arguments),
            None if mode.discovery => ("execute_tool".to_owned(), json!({"name": name, "params": arguments})),
            None => (name.replace('.', "__"), arguments),
        };
        json!({"index": index, "id": format!("call-{}-{index}", read.len()), "type": "function",
            "function": {"name": name, "arguments": arguments.to_string()}})
    };
    let calls: Vec<Value> = calls.iter().enumerate().map(call).collect();
    json!({"role": "assistant", "tool_calls": calls})
}

/// Returns the last handle in the results.
fn handle(read: &str) -> String {
    let (_, after) = read.rsplit_once("r_").unwrap_or_default();
    let rest: String = after.chars().take_while(char::is_ascii_alphanumeric).collect();
    format!("r_{rest}")
}
