//! A server that keeps what it was asked, and answers as a test says.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use tokio::net::TcpListener;

use crate::host::{Host, free_port};

/// The most bytes of a request's body; one with more is answered with status 413, and not kept.
const MAX_BODY_BYTES: usize = 8 * 1024 * 1024;

/// What was asked.
#[derive(Clone, Debug)]
pub struct Hit {
    /// Which of the server's requests it was, from 1.
    pub number: usize,
    /// The method, in capitals.
    pub method: String,
    /// Path and query.
    pub uri: String,
    /// The headers.
    pub headers: HeaderMap,
    /// The body. What is no UTF-8 in it is replaced.
    pub body: String,
}

impl Hit {
    /// The value of a header; nothing when there is none, and `\u{fffd}` when it is no text.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap_or("\u{fffd}"))
    }
}

/// A server that keeps what it was asked, until it is dropped: by it a test knows that nobody came, or what was sent.
#[derive(Debug)]
pub struct Canary {
    host: Host,
    hits: Arc<Mutex<Vec<Hit>>>,
}

/// What the handler of requests needs.
#[derive(Clone)]
struct Asked<F> {
    hits: Arc<Mutex<Vec<Hit>>>,
    answer: F,
}

impl Canary {
    /// Serves on a port that the system chooses.
    pub async fn start(answer: impl Fn(&Hit) -> Response + Clone + Send + Sync + 'static) -> Result<Self> {
        Self::serve(free_port().await?, answer)
    }

    /// Serves where somebody listens already.
    pub fn serve(
        listener: TcpListener,
        answer: impl Fn(&Hit) -> Response + Clone + Send + Sync + 'static,
    ) -> Result<Self> {
        let hits = Arc::default();
        let router = Router::new().fallback(take).with_state(Asked { hits: Arc::clone(&hits), answer });
        Ok(Self { host: Host::serve(listener, router)?, hits })
    }

    /// `http://127.0.0.1:port`.
    pub fn origin(&self) -> String {
        self.host.origin()
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.host.port()
    }

    /// The address of a path, which begins with `/`.
    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.origin())
    }

    /// What was asked, in order.
    pub fn hits(&self) -> Vec<Hit> {
        self.hits.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

async fn take<F: Fn(&Hit) -> Response>(State(asked): State<Asked<F>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let Ok(body) = axum::body::to_bytes(body, MAX_BODY_BYTES).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    let hit = {
        let mut hits = asked.hits.lock().unwrap_or_else(PoisonError::into_inner);
        let hit = Hit {
            number: hits.len() + 1,
            method: parts.method.to_string(),
            uri: parts.uri.to_string(),
            headers: parts.headers,
            body: String::from_utf8_lossy(&body).into_owned(),
        };
        hits.push(hit.clone());
        hit
    };
    (asked.answer)(&hit)
}
