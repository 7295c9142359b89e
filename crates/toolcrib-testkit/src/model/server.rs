//! The server: a script, and a record of requests.

use std::fmt;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::Response;
use axum::routing::post;
use bytes::Bytes;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::Notify;

use super::encoding::{answer, refused};
use super::format::ModelFormat;
use super::turn::Turn;
use crate::http_service::HttpService;

/// The status of the answer to a request without a bearer token.
const UNAUTHORIZED: u16 = 401;

/// The status of the answer to a request that the real API would refuse, or that the script does not cover.
const BAD_REQUEST: u16 = 400;

/// The path of the API.
const COMPLETIONS_PATH: &str = "/v1/chat/completions";

/// The turn for a request, by the number of the turns before it and by its body.
type Script = Box<dyn Fn(usize, &Value) -> Option<Turn> + Send + Sync>;

/// A server of `OpenAI` Chat Completions that answers according to a script, until it is dropped.
///
/// It refuses requests that the real API refuses: a request without a key, a call without a result, an invalid name. At
/// the end of the script it refuses requests as well, with that reason.
#[derive(Debug)]
pub struct ModelServer {
    host: HttpService,
    state: Arc<ModelServerState>,
}

/// A request as it came in.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ModelRequest {
    /// The path of the request.
    pub path: String,
    /// The value of the header with the key: `authorization`, or that of the format.
    pub authorization: String,
    /// The body, byte for byte.
    pub body: Bytes,
}

impl ModelRequest {
    /// Returns the body as JSON.
    pub fn json(&self) -> Result<Value> {
        serde_json::from_slice(&self.body).context("the body of the request is no JSON")
    }
}

struct ModelServerState {
    script: Script,
    progress: Mutex<Progress>,
    gate: Mutex<Gate>,
}

/// The bound on the answers of a server.
struct Gate {
    /// The number of requests that may still be answered.
    left: usize,
    /// Notified when the last of them was answered, and when a request comes after it.
    answered: Arc<Notify>,
    held: Arc<Notify>,
}

impl Default for Gate {
    fn default() -> Self {
        Self::new(usize::MAX)
    }
}

impl Gate {
    fn new(left: usize) -> Self {
        Self { left, answered: Arc::default(), held: Arc::default() }
    }
}

#[derive(Debug, Default)]
struct Progress {
    requests: Vec<ModelRequest>,
    /// The number of turns that were sent.
    turns: usize,
    /// The number of refused attempts at the next turn.
    refusals: usize,
}

impl fmt::Debug for ModelServerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelServerState").field("progress", &self.progress).finish_non_exhaustive()
    }
}

impl ModelServer {
    /// Starts a server that sends these turns in order.
    pub async fn start(turns: impl IntoIterator<Item = Turn>) -> Result<Self> {
        let turns: Vec<Turn> = turns.into_iter().collect();
        Self::serve(Box::new(move |number, _| turns.get(number).cloned())).await
    }

    /// Starts a server with endless turns: the function returns the turn of each number, from 0.
    pub async fn endless(turn: impl Fn(usize) -> Turn + Send + Sync + 'static) -> Result<Self> {
        Self::serve(Box::new(move |number, _| Some(turn(number)))).await
    }

    /// Starts a server whose turns follow from the bodies of the requests.
    pub async fn answering(turn: impl Fn(&Value) -> Turn + Send + Sync + 'static) -> Result<Self> {
        Self::serve(Box::new(move |_, request| Some(turn(request)))).await
    }

    /// Answers this many requests from now on. Those after them wait until their client gives up.
    pub fn hold_after(&self, answers: usize) {
        *self.state.gate.lock() = Gate::new(answers);
    }

    /// Waits until the last request was answered that [`hold_after`](Self::hold_after) allows.
    pub async fn answered(&self) {
        let answered = Arc::clone(&self.state.gate.lock().answered);
        answered.notified().await;
    }

    /// Waits until a request came after the last one that [`hold_after`](Self::hold_after) allows.
    pub async fn held(&self) {
        let held = Arc::clone(&self.state.gate.lock().held);
        held.notified().await;
    }

    async fn serve(script: Script) -> Result<Self> {
        let state = Arc::new(ModelServerState { script, progress: Mutex::default(), gate: Mutex::default() });
        let router = Router::new().route(COMPLETIONS_PATH, post(complete)).with_state(Arc::clone(&state));
        Ok(Self { host: HttpService::start(router).await?, state })
    }

    /// Returns the base URL of the API: `http://127.0.0.1:port/v1`.
    pub fn base_url(&self) -> String {
        format!("{}/v1", self.host.origin())
    }

    /// Returns the requests so far, in order, including refused ones.
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.state.progress.lock().requests.clone()
    }
}

async fn complete(State(state): State<Arc<ModelServerState>>, headers: HeaderMap, body: Bytes) -> Response {
    let authorization = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let authorization = authorization.unwrap_or_default().to_owned();
    let is_known = authorization.starts_with("Bearer ");
    state.progress.lock().requests.push(ModelRequest {
        path: COMPLETIONS_PATH.to_owned(),
        authorization,
        body: body.clone(),
    });
    let left = {
        let mut gate = state.gate.lock();
        let left = gate.left;
        gate.left = left.saturating_sub(1);
        if left == 0 {
            gate.held.notify_one();
        }
        left
    };
    if left == 0 {
        std::future::pending::<()>().await;
    }
    let mut progress = state.progress.lock();
    if !is_known {
        return refused(UNAUTHORIZED, "there is no bearer token");
    }
    let Ok(request) = serde_json::from_slice::<Value>(&body) else {
        return refused(BAD_REQUEST, "the body is no JSON");
    };
    if let Some(problem) = ModelFormat::ChatCompletions.problem(&request) {
        return refused(BAD_REQUEST, &problem);
    }
    let Some(turn) = (state.script)(progress.turns, &request) else {
        return refused(BAD_REQUEST, &format!("the script has no turn {}", progress.turns + 1));
    };
    if let Some(status) = turn.refusals.get(progress.refusals) {
        progress.refusals += 1;
        return refused(*status, "not now");
    }
    progress.refusals = 0;
    progress.turns += 1;
    if left == 1 {
        state.gate.lock().answered.notify_one();
    }
    answer(&turn, progress.turns, &request)
}
