//! How long a download is waited for. The clock is moved by hand, and only when everything before it has happened.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::sync::{Mutex, mpsc as channel};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use toolcrib_exec::limits::DEFAULT_DEADLINE;
use toolcrib_exec::{DenyAll, Executor};
use toolcrib_model::{ErrorKind, ToolCall, ToolResult};
use toolcrib_policy::Policy;
use toolcrib_port::{CallContext, Progress, ProgressListener, ToolLoader as _};
use toolcrib_registry::ToolRegistry;
use toolcrib_testkit::RawServer;

use super::Place;
use crate::http::MAX_DOWNLOAD_SECONDS;

/// Passes on how much has come.
struct Listener(channel::UnboundedSender<f64>);

impl ProgressListener for Listener {
    fn progress(&self, progress: &Progress) {
        self.0.send(progress.done).unwrap();
    }
}

/// As long as this is there, no waiting moves the clock: the runtime would take the network for idle.
struct Standing(#[expect(dead_code, reason = "the clock goes on when it is dropped")] mpsc::Sender<()>);

impl Standing {
    fn still() -> Self {
        tokio::time::pause();
        let (sender, receiver) = mpsc::channel::<()>();
        tokio::task::spawn_blocking(move || receiver.recv());
        Self(sender)
    }
}

/// A download through the whole entrance, from a server that sends a byte when it is told to.
struct Slow {
    place: Place,
    _server: RawServer,
    _standing: Standing,
    /// One for each byte.
    pieces: channel::UnboundedSender<()>,
    told: channel::UnboundedReceiver<f64>,
    call: JoinHandle<ToolResult>,
    started: Instant,
}

impl Slow {
    async fn of(bytes: usize) -> Self {
        let (pieces, wanted) = channel::unbounded_channel::<()>();
        let wanted = Arc::new(Mutex::new(wanted));
        let server = RawServer::start(move |mut stream| {
            let wanted = Arc::clone(&wanted);
            async move {
                let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {bytes}\r\netag: \"1\"\r\n\r\n");
                stream.write_all(head.as_bytes()).await.unwrap();
                while wanted.lock().await.recv().await.is_some() {
                    stream.write_all(b"x").await.unwrap();
                }
            }
        })
        .await
        .unwrap();
        // The client itself is more patient than any call.
        let place = Place::of(json!({"private_origins": [server.origin()], "timeout_seconds": 10_000}));
        let source = toolcrib_port::ToolLoader::source(&place.module).to_owned();
        let tools = place.module.load().await.tools;
        let policy = serde_json::from_value(json!({"default_policy": "grant"})).unwrap();
        let executor = Executor::new(
            Arc::new(ToolRegistry::from_tools(&source, tools).unwrap()),
            Arc::new(Policy::new(&policy, []).unwrap()),
            Arc::new(DenyAll),
        );
        let executor = Arc::new(executor.with_engine(&source, Arc::new(place.module.clone())));
        let (listener, told) = channel::unbounded_channel();
        let context = CallContext::new("s").with_progress(Arc::new(Listener(listener)));
        let arguments = json!({"url": server.origin(), "path": "f"});
        let call = ToolCall::new("http.download", arguments.as_object().unwrap().clone());
        let standing = Standing::still();
        let started = Instant::now();
        let call = tokio::spawn(async move { executor.call(call, &context).await });
        Self { place, _server: server, _standing: standing, pieces, told, call, started }
    }

    /// Has the server send a byte, and waits until it is told of.
    async fn byte(&mut self, number: u32) {
        self.pieces.send(()).unwrap();
        assert_eq!(self.told.recv().await, Some(f64::from(number)));
    }

    /// Moves the clock until the call ends, and says when and with what.
    async fn end(self) -> (ToolResult, Duration, Place) {
        const STEP: Duration = Duration::from_secs(1);
        while !self.call.is_finished() {
            tokio::time::advance(STEP).await;
            tokio::task::yield_now().await;
        }
        (self.call.await.unwrap(), self.started.elapsed(), self.place)
    }
}

#[tokio::test]
async fn a_download_that_goes_on_outlives_its_deadline() {
    const BYTES: u32 = 8;
    let mut slow = Slow::of(BYTES.try_into().unwrap()).await;
    let mostly = DEFAULT_DEADLINE * 9 / 10;
    for number in 1..=BYTES {
        slow.byte(number).await;
        if number < BYTES {
            tokio::time::advance(mostly).await;
        }
    }
    let took = slow.started.elapsed();
    let result = slow.call.await.unwrap();
    assert_eq!((result.error, result.result), (None, json!({"path": "f", "bytes": BYTES})));
    assert!(took > 6 * DEFAULT_DEADLINE, "{took:?}");
    assert_eq!(std::fs::read(slow.place.folder.path().join("f")).unwrap(), b"xxxxxxxx");
}

#[tokio::test]
async fn a_download_that_stands_still_ends_with_its_deadline() {
    let mut slow = Slow::of(8).await;
    slow.byte(1).await;
    tokio::time::advance(Duration::from_secs(50)).await;
    slow.byte(2).await;
    let (result, took, _place) = slow.end().await;
    assert_eq!(result.error.unwrap().kind, ErrorKind::Timeout);
    assert!((110..=115).contains(&took.as_secs()), "{took:?}");
}

#[tokio::test]
async fn a_download_that_goes_on_without_end_ends_at_the_maximum_and_can_be_gone_on_with() {
    let mut slow = Slow::of(1000).await;
    let most = Duration::from_secs(MAX_DOWNLOAD_SECONDS);
    for number in 1.. {
        slow.byte(number).await;
        if slow.started.elapsed() + DEFAULT_DEADLINE > most {
            break;
        }
        tokio::time::advance(Duration::from_secs(50)).await;
    }
    let (result, took, place) = slow.end().await;
    let error = result.error.unwrap();
    assert_eq!(error.message, format!("`f` was not all there after {MAX_DOWNLOAD_SECONDS} s"));
    assert_eq!(error.hint.as_deref(), Some("call it again to continue, if the server supports that"));
    assert!((MAX_DOWNLOAD_SECONDS..=MAX_DOWNLOAD_SECONDS + 5).contains(&took.as_secs()), "{took:?}");
    assert!(place.folder.path().join("f.part").exists());
    assert_eq!(Value::Null, result.result);
}
