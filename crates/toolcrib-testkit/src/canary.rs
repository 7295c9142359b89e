//! A server that records requests and answers as a test specifies.

use std::sync::Arc;

use anyhow::Result;
use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use parking_lot::Mutex;
use tokio::net::TcpListener;

use crate::http_service::{HttpService, free_port};

/// The most bytes of a request's body; a larger one is answered with status 413 and not recorded.
const MAX_BODY_BYTES: usize = 8 * 1024 * 1024;

/// A request.
#[derive(Clone, Debug)]
pub struct Hit {
    /// The number of the request, from 1.
    pub number: usize,
    /// The method, in capitals.
    pub method: String,
    /// Path and query.
    pub uri: String,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, with invalid UTF-8 replaced.
    pub body: String,
}

impl Hit {
    /// Returns the value of a header; empty if there is no such header, and `\u{fffd}` if it is not text.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap_or("\u{fffd}"))
    }
}

/// A server that records requests until it is dropped: tests assert with it that no request came, or that a certain one
/// did.
#[derive(Debug)]
pub struct Canary {
    host: HttpService,
    hits: Arc<Mutex<Vec<Hit>>>,
}

/// The state of the request handler.
#[derive(Clone)]
struct CanaryState<F> {
    hits: Arc<Mutex<Vec<Hit>>>,
    answer: F,
}

impl Canary {
    /// Serves on a port that the system chooses.
    pub async fn start(answer: impl Fn(&Hit) -> Response + Clone + Send + Sync + 'static) -> Result<Self> {
        Self::serve(free_port().await?, answer)
    }

    /// Serves on an existing listener.
    pub fn serve(
        listener: TcpListener,
        answer: impl Fn(&Hit) -> Response + Clone + Send + Sync + 'static,
    ) -> Result<Self> {
        let hits = Arc::default();
        let router = Router::new().fallback(take).with_state(CanaryState { hits: Arc::clone(&hits), answer });
        Ok(Self { host: HttpService::serve(listener, router)?, hits })
    }

    /// Returns `http://127.0.0.1:port`.
    pub fn origin(&self) -> String {
        self.host.origin()
    }

    /// Returns the port.
    pub fn port(&self) -> u16 {
        self.host.port()
    }

    /// Returns the URL of a path, which begins with `/`.
    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.origin())
    }

    /// Returns the requests, in order.
    pub fn hits(&self) -> Vec<Hit> {
        self.hits.lock().clone()
    }
}

async fn take<F: Fn(&Hit) -> Response>(State(asked): State<CanaryState<F>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let Ok(body) = axum::body::to_bytes(body, MAX_BODY_BYTES).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    let hit = {
        let mut hits = asked.hits.lock();
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
