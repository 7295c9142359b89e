//! A server that keeps what it was asked, and answers as a test says.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::Request;
use axum::http::HeaderMap;
use axum::response::Response;
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What was asked.
#[derive(Clone, Debug)]
pub(super) struct Hit {
    pub(super) method: String,
    pub(super) uri: String,
    pub(super) headers: HeaderMap,
    pub(super) body: String,
}

/// Ends with the test.
pub(super) struct Canary {
    pub(super) port: u16,
    hits: Arc<Mutex<Vec<Hit>>>,
    task: JoinHandle<()>,
}

impl Drop for Canary {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Hit {
    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

impl Canary {
    pub(super) async fn start(answer: impl Fn(&Hit) -> Response + Clone + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let hits = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&hits);
        let app = Router::new().fallback(move |request: Request| {
            let (kept, answer) = (Arc::clone(&kept), answer.clone());
            async move {
                let (parts, body) = request.into_parts();
                let body = axum::body::to_bytes(body, 1 << 23).await.unwrap();
                let hit = Hit {
                    method: parts.method.to_string(),
                    uri: parts.uri.to_string(),
                    headers: parts.headers,
                    body: String::from_utf8_lossy(&body).into_owned(),
                };
                kept.lock().unwrap().push(hit.clone());
                answer(&hit)
            }
        });
        let task = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { port, hits, task }
    }

    /// `http://127.0.0.1:port`.
    pub(super) fn origin(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub(super) fn url(&self, rest: &str) -> String {
        format!("{}{rest}", self.origin())
    }

    pub(super) fn hits(&self) -> Vec<Hit> {
        self.hits.lock().unwrap().clone()
    }
}

/// A server that answers each connection with what `play` writes, until it is dropped.
pub(super) struct Raw {
    pub(super) origin: String,
    task: JoinHandle<()>,
}

impl Drop for Raw {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Raw {
    pub(super) async fn start<F>(play: impl Fn(TcpStream) -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let task = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                // The head of the request, which fits into this.
                if stream.read(&mut [0; 4096]).await.is_ok() {
                    tokio::spawn(play(stream));
                }
            }
        });
        Self { origin, task }
    }
}
