//! The server itself: a script, and a record of what was asked.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result};
use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::Response;
use axum::routing::post;
use bytes::Bytes;
use serde_json::Value;

use super::answer::{answer, refused};
use super::refusal::problem;
use super::turn::Turn;
use crate::host::Host;

/// What a request without a bearer token is turned away with.
const UNAUTHORIZED: u16 = 401;

/// What a request is turned away with that the real API would not take, or that the script does not know.
const BAD_REQUEST: u16 = 400;

/// The path of the API.
pub(super) const COMPLETIONS_PATH: &str = "/v1/chat/completions";

/// The turn for a request, from 0.
type Script = Box<dyn Fn(usize) -> Option<Turn> + Send + Sync>;

/// A server that speaks `OpenAI` Chat Completions and answers by a script, until it is dropped.
///
/// It refuses what the real API refuses: a request without a key, a call without a result, a name that is none. When
/// the script is over it refuses as well, and says so.
#[derive(Debug)]
pub struct ModelServer {
    host: Host,
    state: Arc<Shared>,
}

/// A request as it came in.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ModelRequest {
    /// The path that was asked.
    pub path: String,
    /// The value of `authorization`.
    pub authorization: String,
    /// The body, byte for byte.
    pub body: Bytes,
}

impl ModelRequest {
    /// The body as JSON.
    pub fn json(&self) -> Result<Value> {
        serde_json::from_slice(&self.body).context("the body of the request is no JSON")
    }
}

struct Shared {
    script: Script,
    progress: Mutex<Progress>,
}

#[derive(Debug, Default)]
struct Progress {
    requests: Vec<ModelRequest>,
    /// How many turns were sent.
    turns: usize,
    /// How many attempts at the turn that comes next were turned away.
    refusals: usize,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("progress", &self.progress).finish_non_exhaustive()
    }
}

impl ModelServer {
    /// A server that sends these turns, one after the other.
    pub async fn start(turns: impl IntoIterator<Item = Turn>) -> Result<Self> {
        let turns: Vec<Turn> = turns.into_iter().collect();
        Self::serve(Box::new(move |number| turns.get(number).cloned())).await
    }

    /// A server that never runs out: the function makes the turn of each number, from 0.
    pub async fn endless(turn: impl Fn(usize) -> Turn + Send + Sync + 'static) -> Result<Self> {
        Self::serve(Box::new(move |number| Some(turn(number)))).await
    }

    async fn serve(script: Script) -> Result<Self> {
        let state = Arc::new(Shared { script, progress: Mutex::default() });
        let router = Router::new().route(COMPLETIONS_PATH, post(complete)).with_state(Arc::clone(&state));
        Ok(Self { host: Host::start(router).await?, state })
    }

    /// Where the API is: `http://127.0.0.1:port/v1`.
    pub fn base_url(&self) -> String {
        format!("{}/v1", self.host.origin())
    }

    /// The requests so far, in order, with those that were turned away.
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.state.progress.lock().unwrap_or_else(PoisonError::into_inner).requests.clone()
    }
}

async fn complete(State(state): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> Response {
    let authorization = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let authorization = authorization.unwrap_or_default().to_owned();
    let is_known = authorization.starts_with("Bearer ");
    let mut progress = state.progress.lock().unwrap_or_else(PoisonError::into_inner);
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
    if let Some(problem) = problem(&request) {
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
