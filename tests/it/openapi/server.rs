//! A server that writes down what it is asked, by the first segment of the path.

use std::collections::HashMap;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use parking_lot::Mutex;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// More than any body of these tests.
const MAX_BODY: usize = 1 << 24;

/// A request, as it arrived.
#[derive(Clone, Debug)]
pub(super) struct Recorded {
    pub(super) method: String,
    /// Path and query, undecoded.
    pub(super) target: String,
    pub(super) headers: Vec<(String, Vec<u8>)>,
    pub(super) body: Vec<u8>,
}

type Records = Arc<Mutex<HashMap<String, Vec<Recorded>>>>;

/// Ends when it is dropped.
pub(super) struct Server {
    pub(super) origin: String,
    records: Records,
    task: JoinHandle<()>,
}

impl Server {
    pub(super) async fn start() -> Self {
        let records = Records::default();
        let app = Router::new().fallback(record).with_state(Arc::clone(&records));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let task = tokio::spawn(async move { drop(axum::serve(listener, app).await) });
        Self { origin, records, task }
    }

    /// Takes what came in under a first segment.
    pub(super) fn take(&self, segment: &str) -> Vec<Recorded> {
        self.records.lock().remove(segment).unwrap_or_default()
    }

    /// What came in and nobody has taken.
    pub(super) fn left(&self) -> Vec<Recorded> {
        self.records.lock().drain().flat_map(|(_, records)| records).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn record(State(records): State<Records>, request: Request) -> axum::http::Response<Body> {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, MAX_BODY).await.unwrap().to_vec();
    let target = parts.uri.to_string();
    let segment = target.split(['/', '?']).nth(1).unwrap_or_default().to_owned();
    let headers = parts
        .headers
        .iter()
        .map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec()))
        .collect();
    let recorded = Recorded { method: parts.method.as_str().to_owned(), target, headers, body };
    records.lock().entry(segment).or_default().push(recorded);
    axum::http::Response::builder().header(CONTENT_TYPE, "application/json").body(Body::from("{}")).unwrap()
}
