//! A collector of spans, by OTLP/JSON over HTTP.

use std::collections::VecDeque;
use std::sync::Arc;

use anyhow::Result;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use axum::{Json, Router};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::http_service::HttpService;

#[derive(Debug, Default)]
struct CollectorState {
    requests: Vec<Export>,
    /// The statuses of the next answers; 200 if empty.
    answers: VecDeque<StatusCode>,
    is_silent: bool,
}

/// A batch that was sent to the collector.
#[derive(Clone, Debug)]
pub struct Export {
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Value,
    /// True if the answer was a success.
    pub was_taken: bool,
}

/// A collector that records spans, until it is dropped.
#[derive(Debug)]
pub struct Collector {
    host: HttpService,
    seen: Arc<Mutex<CollectorState>>,
}

impl Collector {
    /// Starts a collector that accepts everything.
    pub async fn start() -> Result<Self> {
        Self::with(CollectorState::default()).await
    }

    /// Starts a collector that answers with these statuses first.
    pub async fn answering(statuses: impl IntoIterator<Item = u16>) -> Result<Self> {
        let answers = statuses.into_iter().map(StatusCode::from_u16).collect::<Result<_, _>>()?;
        Self::with(CollectorState { answers, ..CollectorState::default() }).await
    }

    /// Starts a collector that never answers.
    pub async fn silent() -> Result<Self> {
        Self::with(CollectorState { is_silent: true, ..CollectorState::default() }).await
    }

    async fn with(seen: CollectorState) -> Result<Self> {
        let seen = Arc::new(Mutex::new(seen));
        let router = Router::new().route("/v1/traces", post(take)).with_state(Arc::clone(&seen));
        Ok(Self { host: HttpService::start(router).await?, seen })
    }

    /// Returns the address, without the path of traces.
    pub fn endpoint(&self) -> String {
        self.host.origin()
    }

    /// Returns the batches, in order.
    pub fn exports(&self) -> Vec<Export> {
        self.seen.lock().requests.clone()
    }

    /// Returns the accepted spans, in the order in which they came: `{name, kind, traceId, …}`, with `attributes` as an
    /// object of plain values.
    pub fn spans(&self) -> Vec<Value> {
        let taken = self.exports().into_iter().filter(|export| export.was_taken);
        taken.flat_map(|export| spans(&export.body)).collect()
    }
}

async fn take(
    State(seen): State<Arc<Mutex<CollectorState>>>,
    headers: HeaderMap,
    Json(body): Json<Value>,
) -> (StatusCode, Json<Value>) {
    let (status, is_silent) = {
        let mut seen = seen.lock();
        let status = seen.answers.pop_front().unwrap_or(StatusCode::OK);
        let was_taken = status.is_success() && !seen.is_silent;
        seen.requests.push(Export { headers, body, was_taken });
        (status, seen.is_silent)
    };
    if is_silent {
        std::future::pending::<()>().await;
    }
    (status, Json(json!({})))
}

fn spans(body: &Value) -> Vec<Value> {
    let list =
        |value: &Value, key: &str| value.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let mut spans = Vec::new();
    for resource in list(body, "resourceSpans") {
        for scope in list(&resource, "scopeSpans") {
            for mut span in list(&scope, "spans") {
                let attributes: serde_json::Map<_, _> =
                    list(&span, "attributes").iter().filter_map(attribute).collect();
                if let Some(span) = span.as_object_mut() {
                    span.insert("attributes".to_owned(), attributes.into());
                }
                spans.push(span);
            }
        }
    }
    spans
}

/// Returns the key and the plain value of an attribute. The value is the only member of an object, whose key is the
/// type.
fn attribute(attribute: &Value) -> Option<(String, Value)> {
    let key = attribute.get("key")?.as_str()?.to_owned();
    let value = attribute.get("value")?.as_object()?.values().next()?;
    Some((key, value.clone()))
}
