//! A server of arbitrary bytes: wrong lengths, floods and slow answers.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::Result;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::{JoinHandle, JoinSet};

use crate::http_service::free_port;

/// The bytes of a request that are read before the answer: the head fits into them.
const HEAD_BYTES: usize = 4096;

/// The bytes of a [flood](RawServer::flooding): 100 MiB.
const FLOOD_BYTES: usize = 100 * 1024 * 1024;

/// The bytes of one write of a flood.
const CHUNK_BYTES: usize = 64 * 1024;

/// The time between two letters of a [drip](RawServer::dripping).
const DRIP: Duration = Duration::from_millis(5);

/// A server that runs a function on each connection after it received a request there, until it is dropped.
#[derive(Debug)]
pub struct RawServer {
    address: SocketAddr,
    /// The bytes of floods that were sent.
    sent: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl RawServer {
    /// Starts a server that runs this function. The connection is closed when the stream is dropped.
    pub async fn start<F>(play: impl Fn(TcpStream) -> F + Send + 'static) -> Result<Self>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = free_port().await?;
        let address = listener.local_addr()?;
        let task = tokio::spawn(async move {
            // The connections end with the server.
            let mut connections = JoinSet::new();
            while let Ok((mut stream, _)) = listener.accept().await {
                if stream.read(&mut [0; HEAD_BYTES]).await.is_ok() {
                    connections.spawn(play(stream));
                }
            }
        });
        Ok(Self { address, sent: Arc::default(), task })
    }

    /// Writes these bytes and closes the connection.
    pub async fn answering(answer: impl Into<Vec<u8>>) -> Result<Self> {
        let answer: Arc<[u8]> = answer.into().into();
        Self::start(move |mut stream| {
            let answer = Arc::clone(&answer);
            // The client may disconnect before the end.
            async move { drop(stream.write_all(&answer).await) }
        })
        .await
    }

    /// Writes this head, and then 100 MiB of the letter `x`, or as much as the client accepts.
    pub async fn flooding(head: &'static str) -> Result<Self> {
        let sent = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&sent);
        let mut server = Self::start(move |stream| flood(stream, head, Arc::clone(&counted))).await?;
        server.sent = sent;
        Ok(server)
    }

    /// Writes this head, and then the letter `H` at intervals, without end: with an empty head, an answer would begin
    /// with it.
    pub async fn dripping(head: &'static str) -> Result<Self> {
        Self::start(move |stream| drip(stream, head)).await
    }

    /// Returns `http://127.0.0.1:port`.
    pub fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Returns the bytes of floods that were written so far, without the head. Bytes that the client has not received
    /// are in the buffers of the system, up to some megabytes.
    pub fn sent(&self) -> usize {
        self.sent.load(Ordering::SeqCst)
    }
}

impl Drop for RawServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn flood(mut stream: TcpStream, head: &str, sent: Arc<AtomicUsize>) {
    let chunk = vec![b'x'; CHUNK_BYTES];
    if stream.write_all(head.as_bytes()).await.is_err() {
        return;
    }
    for _ in 0..FLOOD_BYTES / CHUNK_BYTES {
        if stream.write_all(&chunk).await.is_err() {
            return;
        }
        sent.fetch_add(CHUNK_BYTES, Ordering::SeqCst);
    }
}

async fn drip(mut stream: TcpStream, head: &str) {
    let mut drops = tokio::time::interval(DRIP);
    if stream.write_all(head.as_bytes()).await.is_err() {
        return;
    }
    while stream.write_all(b"H").await.is_ok() {
        drops.tick().await;
    }
}

/// Returns answers with wrong lengths and invalid answers, each for [`RawServer::answering`]. A client can accept none
/// of them.
pub fn lying_answers() -> Vec<String> {
    let mut lies: Vec<_> = [
        "HTTP/1.1 200 OK\r\ncontent-length: 18446744073709551615\r\n\r\n{}",
        "HTTP/1.1 200 OK\r\ncontent-length: 99999999999999999999999\r\n\r\n{}",
        "HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n{}",
        "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 50\r\n\r\n{}",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffffff\r\n{}",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{}",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{}",
        "HTTP/1.1 200 OK\r\nx: a\0b\r\n\r\n",
        "HTTP/9.9 200 OK\r\n\r\n",
        "HTTP/1.1 99999 OK\r\n\r\n",
        "HTTP/1.1 100 Continue\r\n\r\n",
        "\0\x01\x02 no HTTP at all",
        "",
    ]
    .map(str::to_owned)
    .into();
    lies.push(format!("HTTP/1.1 200 OK\r\n{}\r\n", "x: y\r\n".repeat(10_000)));
    lies.push(format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "y".repeat(1 << 20)));
    lies
}
