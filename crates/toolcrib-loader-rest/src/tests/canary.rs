//! A server that keeps what it was asked, and answers as a test says.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::Request;
use axum::http::HeaderMap;
use axum::response::Response;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// What was asked.
#[derive(Clone, Debug)]
pub(crate) struct Hit {
    pub(crate) method: String,
    pub(crate) uri: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

/// Ends with the test.
pub(crate) struct Canary {
    pub(crate) port: u16,
    hits: Arc<Mutex<Vec<Hit>>>,
    task: JoinHandle<()>,
}

impl Drop for Canary {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Hit {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

impl Canary {
    /// Answers each request, of which it is the so-manieth, from 1.
    pub(crate) async fn start(
        answer: impl Fn(&Hit, usize) -> Response + Clone + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let hits = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&hits);
        let app = Router::new().fallback(move |request: Request| {
            let (kept, answer) = (Arc::clone(&kept), answer.clone());
            async move {
                let (parts, body) = request.into_parts();
                let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
                let hit = Hit {
                    method: parts.method.to_string(),
                    uri: parts.uri.to_string(),
                    headers: parts.headers,
                    body: String::from_utf8_lossy(&body).into_owned(),
                };
                let count = {
                    let mut kept = kept.lock().unwrap();
                    kept.push(hit.clone());
                    kept.len()
                };
                answer(&hit, count)
            }
        });
        let task = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { port, hits, task }
    }

    /// `http://127.0.0.1:port`.
    pub(crate) fn origin(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub(crate) fn hits(&self) -> Vec<Hit> {
        self.hits.lock().unwrap().clone()
    }
}
