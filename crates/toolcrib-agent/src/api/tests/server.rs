//! A server on a real socket that answers as it is told.

use std::fmt::Write as _;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// What is done with one request: bytes that are written, and then the connection closed, or held open.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    bytes: Vec<u8>,
    hold: bool,
}

/// A request as it came in.
#[derive(Clone, Debug)]
pub(super) struct Received {
    pub(super) head: String,
    pub(super) body: String,
}

impl Received {
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// The last answer is repeated for all further requests.
pub(super) struct Server {
    pub(super) base_url: String,
    received: Arc<Mutex<Vec<Received>>>,
}

impl Answer {
    pub(super) fn new(status: &str, headers: &str, body: &str) -> Self {
        let length = body.len();
        let head =
            format!("HTTP/1.1 {status}\r\nconnection: close\r\n{headers}content-length: {length}\r\n\r\n");
        Self { bytes: (head + body).into_bytes(), hold: false }
    }

    pub(super) fn nothing() -> Self {
        Self { bytes: Vec::new(), hold: false }
    }

    pub(super) fn json(body: &Value) -> Self {
        Self::new("200 OK", "content-type: application/json\r\n", &body.to_string())
    }

    /// A stream of these events, as chunks. Without the end of the chunks the stream is cut off.
    pub(super) fn events(events: &[&str], is_ended: bool) -> Self {
        let mut text = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/event-stream\r\n\
            transfer-encoding: chunked\r\n\r\n"
            .to_owned();
        for event in events {
            let event = format!("data: {event}\n\n");
            write!(text, "{:x}\r\n{event}\r\n", event.len()).unwrap();
        }
        if is_ended {
            text.push_str("0\r\n\r\n");
        }
        Self { bytes: text.into_bytes(), hold: false }
    }

    /// Nothing after the bytes, and no end of the connection either.
    pub(super) fn held(mut self) -> Self {
        self.hold = true;
        self
    }
}

impl Server {
    pub(super) async fn start(answers: Vec<Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let received = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&received);
        // Ends with the test's runtime.
        tokio::spawn(async move {
            let mut held = Vec::new();
            let mut answers = answers.into_iter().peekable();
            while let Ok((mut socket, _)) = listener.accept().await {
                let request = receive(&mut socket).await;
                log.lock().push(request);
                let Some(answer) = answers.next() else { break };
                if answers.peek().is_none() {
                    answers = vec![answer.clone()].into_iter().peekable();
                }
                socket.write_all(&answer.bytes).await.unwrap();
                if answer.hold {
                    held.push(socket);
                }
            }
        });
        Self { base_url, received }
    }

    pub(super) fn received(&self) -> Vec<Received> {
        self.received.lock().clone()
    }
}

async fn receive(socket: &mut TcpStream) -> Received {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let head = head.to_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
            if body.len() == length.parse::<usize>().unwrap() {
                return Received { body: body.to_owned(), head };
            }
        }
        assert_ne!(
            socket.read_buf(&mut bytes).await.unwrap(),
            0,
            "the client left in the middle of its request"
        );
    }
}
