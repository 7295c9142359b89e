//! Tests against a real server on this machine.

mod addresses;
mod guard;
mod headers;
mod requests;

use std::sync::Arc;

use http::Method;
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use url::Url;

use super::{HttpClient, HttpPolicy, Request};

/// A server that plays one answer to every request, and keeps the requests.
struct Server {
    port: u16,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Answers each request with `answer`, and closes the connection.
    async fn start(answer: impl Into<Vec<u8>>) -> Self {
        let answer = answer.into();
        Self::start_with_port(|_| answer).await
    }

    /// The same, of an answer that has the port of the server in it.
    async fn start_with_port<A: Into<Vec<u8>>>(answer: impl FnOnce(u16) -> A) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (answer, kept) = (answer(port).into(), Arc::clone(&requests));
        tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                tokio::spawn(serve(connection, answer.clone(), Arc::clone(&kept)));
            }
        });
        Self { port, requests }
    }

    fn url(&self, rest: &str) -> Url {
        Url::parse(&format!("http://127.0.0.1:{}{rest}", self.port)).unwrap()
    }

    fn get(&self, rest: &str) -> Request {
        Request::new(Method::GET, self.url(rest))
    }

    fn requests(&self) -> Vec<String> {
        self.requests.lock().clone()
    }
}

async fn serve(mut connection: TcpStream, answer: Vec<u8>, requests: Arc<Mutex<Vec<String>>>) {
    let mut request = Vec::new();
    let mut chunk = [0; 4096];
    while !is_complete(&request) {
        match connection.read(&mut chunk).await {
            Ok(count @ 1..) => request.extend_from_slice(&chunk[..count]),
            _ => return,
        }
    }
    requests.lock().push(String::from_utf8(request).unwrap());
    // The client may have had enough before the end.
    let _ = connection.write_all(&answer).await;
}

/// Whether the bytes are a whole request, with its body if it announces one.
fn is_complete(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    body.len() >= length.unwrap_or(0)
}

/// A client that may talk to the servers of these tests.
fn client(change: impl FnOnce(&mut HttpPolicy)) -> HttpClient {
    let mut policy = HttpPolicy { allow_private: true, ..HttpPolicy::default() };
    change(&mut policy);
    HttpClient::new(policy).unwrap()
}
