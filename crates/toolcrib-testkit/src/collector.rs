//! A collector of spans and logs, by OTLP/JSON over HTTP.

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

/// A collector that records spans and logs, until it is dropped.
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
        let router = Router::new().route("/v1/traces", post(take)).route("/v1/logs", post(take));
        let router = router.with_state(Arc::clone(&seen));
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
        taken.flat_map(|export| records(&export.body, ["resourceSpans", "scopeSpans", "spans"])).collect()
    }

    /// Returns the accepted logs, in the same way.
    pub fn logs(&self) -> Vec<Value> {
        let taken = self.exports().into_iter().filter(|export| export.was_taken);
        taken.flat_map(|export| records(&export.body, ["resourceLogs", "scopeLogs", "logRecords"])).collect()
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

/// Returns the records below the resources and scopes of a body, each of which is a list under its key.
fn records(body: &Value, [resources, scopes, records]: [&str; 3]) -> Vec<Value> {
    let list =
        |value: &Value, key: &str| value.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let mut found = Vec::new();
    for resource in list(body, resources) {
        for scope in list(&resource, scopes) {
            for mut record in list(&scope, records) {
                let attributes: serde_json::Map<_, _> =
                    list(&record, "attributes").iter().filter_map(attribute).collect();
                if let Some(record) = record.as_object_mut() {
                    record.insert("attributes".to_owned(), attributes.into());
                }
                found.push(record);
            }
        }
    }
    found
}

/// Returns the key and the plain value of an attribute. The value is the only member of an object, whose key is the
/// type.
fn attribute(attribute: &Value) -> Option<(String, Value)> {
    let key = attribute.get("key")?.as_str()?.to_owned();
    let value = attribute.get("value")?.as_object()?.values().next()?;
    Some((key, value.clone()))
}
