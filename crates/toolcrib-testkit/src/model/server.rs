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

/// The turn for a request, from 0.
type Script = Box<dyn Fn(usize) -> Option<Turn> + Send + Sync>;

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
        Self::serve(Box::new(move |number| turns.get(number).cloned())).await
    }

    /// Starts a server with endless turns: the function returns the turn of each number, from 0.
    pub async fn endless(turn: impl Fn(usize) -> Turn + Send + Sync + 'static) -> Result<Self> {
        Self::serve(Box::new(move |number| Some(turn(number)))).await
    }

    async fn serve(script: Script) -> Result<Self> {
        let state = Arc::new(ModelServerState { script, progress: Mutex::default() });
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
    let mut progress = state.progress.lock();
    progress.requests.push(ModelRequest {
        path: COMPLETIONS_PATH.to_owned(),
        authorization,
        body: body.clone(),
    });

    if !is_known {
        return refused(UNAUTHORIZED, "there is no bearer token");
    }
    let Ok(request) = serde_json::from_slice::<Value>(&body) else {
        return refused(BAD_REQUEST, "the body is no JSON");
    };
    if let Some(problem) = ModelFormat::ChatCompletions.problem(&request) {
        return refused(BAD_REQUEST, &problem);
    }
    let Some(turn) = (state.script)(progress.turns) else {
        return refused(BAD_REQUEST, &format!("the script has no turn {}", progress.turns + 1));
    };
    if let Some(status) = turn.refusals.get(progress.refusals) {
        progress.refusals += 1;
        return refused(*status, "not now");
    }
    progress.refusals = 0;
    progress.turns += 1;
    answer(&turn, progress.turns, &request)
}
