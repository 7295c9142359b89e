//! A server of bytes, which need not be an answer: lies, floods and drips.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::Result;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::{JoinHandle, JoinSet};

use crate::host::free_port;

/// How much of a request is read before it is answered: its head, which fits into this.
const HEAD_BYTES: usize = 4096;

/// How much a [flood](RawServer::flooding) is: 100 MiB.
const FLOOD_BYTES: usize = 100 * 1024 * 1024;

/// How much of a flood is written at once.
const CHUNK_BYTES: usize = 64 * 1024;

/// The time between two letters of a [drip](RawServer::dripping).
const DRIP: Duration = Duration::from_millis(5);

/// A server that plays its part on each connection once something was asked there, until it is dropped.
#[derive(Debug)]
pub struct RawServer {
    address: SocketAddr,
    /// Bytes of floods.
    sent: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl RawServer {
    /// Plays this. The connection is closed when the stream is dropped.
    pub async fn start<F>(play: impl Fn(TcpStream) -> F + Send + 'static) -> Result<Self>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = free_port().await?;
        let address = listener.local_addr()?;
        let task = tokio::spawn(async move {
            // They end with the server.
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
            // The client may have had enough before the end.
            async move { drop(stream.write_all(&answer).await) }
        })
        .await
    }

    /// Writes this head, and 100 MiB of the letter `x` after it, or what is taken of them.
    pub async fn flooding(head: &'static str) -> Result<Self> {
        let sent = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&sent);
        let mut server = Self::start(move |stream| flood(stream, head, Arc::clone(&counted))).await?;
        server.sent = sent;
        Ok(server)
    }

    /// Writes this head, and the letter `H` now and then after it, without end: where there is no head, that of an
    /// answer begins so.
    pub async fn dripping(head: &'static str) -> Result<Self> {
        Self::start(move |stream| drip(stream, head)).await
    }

    /// `http://127.0.0.1:port`.
    pub fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// How many bytes of a flood it could write so far, without the head. What nobody has received stands in the
    /// buffers of the system, up to some megabytes.
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

/// Answers that lie about their length or are none, each for [`RawServer::answering`]. A client can make a result of
/// none of them.
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
