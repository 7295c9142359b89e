//! The state of the store, and the record of requests.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use axum::Json;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::LOCATION;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};

use super::responses::Refusal;

/// The largest body that is accepted, in bytes.
const MAX_BODY_BYTES: usize = 64 * 1024 * 1024;

/// A request as it came in.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StoreRequest {
    /// The method, such as `GET`.
    pub method: String,
    /// Path and query, relative to the address of the operations, undecoded.
    pub target: String,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

impl StoreRequest {
    /// Returns method and target: `GET /pet/1`.
    pub fn line(&self) -> String {
        format!("{} {}", self.method, self.target)
    }

    /// Returns the value of a header; empty if there is no such header.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}

/// The state of the store.
#[derive(Debug)]
pub(super) struct Store {
    pub(super) pets: BTreeMap<i64, Value>,
    pub(super) images: BTreeMap<i64, Bytes>,
    pub(super) orders: BTreeMap<i64, Value>,
    pub(super) users: BTreeMap<String, Value>,
    /// The consecutive logins with a wrong password.
    pub(super) wrong_logins: u32,
    /// The number of tokens that were issued, and the number of those that were revoked.
    pub(super) tokens: u64,
    pub(super) revoked: u64,
    /// The failures of the next requests.
    pub(super) failures: VecDeque<(u16, Vec<(String, String)>)>,
    pub(super) asked: Vec<StoreRequest>,
}

/// The store, shared by handlers.
#[derive(Clone, Debug)]
pub(super) struct SharedStore(Arc<Mutex<Store>>);

impl SharedStore {
    pub(super) fn lock(&self) -> MutexGuard<'_, Store> {
        self.0.lock()
    }
}

impl Default for SharedStore {
    fn default() -> Self {
        let pets =
            [(1, "Rex", "dog", "available"), (2, "Mia", "cat", "pending")].map(|(id, name, tag, status)| {
                (id, json!({"id": id, "name": name, "photoUrls": [], "tags": [tag], "status": status}))
            });
        Self(Arc::new(Mutex::new(Store {
            pets: pets.into(),
            images: BTreeMap::new(),
            orders: BTreeMap::new(),
            users: BTreeMap::new(),
            wrong_logins: 0,
            tokens: 0,
            revoked: 0,
            failures: VecDeque::new(),
            asked: Vec::new(),
        })))
    }
}

/// Returns the next free number.
pub(super) fn next_id(of: &BTreeMap<i64, Value>) -> i64 {
    of.keys().next_back().map_or(1, |last| last + 1)
}

/// Records a request, and injects the next failure.
pub(super) async fn record(State(store): State<SharedStore>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let Ok(body) = to_bytes(body, MAX_BODY_BYTES).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    let asked = StoreRequest {
        method: parts.method.to_string(),
        target: parts.uri.to_string(),
        headers: parts.headers.clone(),
        body: body.clone(),
    };
    let trouble = {
        let mut store = store.lock();
        store.asked.push(asked);
        store.failures.pop_front()
    };
    if let Some((status, headers)) = trouble {
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut refusal = Refusal::new(status, "In trouble", "the store was told to say so").into_response();
        for (name, value) in headers {
            if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
                refusal.headers_mut().insert(name, value);
            }
        }
        return refusal;
    }
    next.run(Request::from_parts(parts, Body::from(body))).await
}

/// Answers with an echo of the request.
pub(super) async fn echo(request: Request) -> Response {
    let header = |(name, value): (&HeaderName, &HeaderValue)| {
        (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
    };
    let headers: BTreeMap<_, _> = request.headers().iter().map(header).collect();
    let target = request.uri().to_string();
    let location = HeaderValue::try_from(target.as_str()).unwrap_or(HeaderValue::from_static("/"));
    let asked = json!({"target": target, "headers": headers});
    (StatusCode::NOT_FOUND, [(LOCATION, location)], Json(asked)).into_response()
}
