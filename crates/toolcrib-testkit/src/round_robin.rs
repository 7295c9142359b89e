//! A proxy that sends each request to the next of several servers.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Result;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::http_service::free_port;

/// The limit on the head of a request, in bytes.
const MAX_HEAD_BYTES: usize = 64 * 1024;

/// The end of a head.
const END: &[u8] = b"\r\n\r\n";

/// A proxy that sends each request to the next server. Of a connection it takes one request: it asks the server to close
/// it, so that the client opens another one for the next request. A server that does not listen is left out.
#[derive(Debug)]
pub struct RoundRobin {
    address: SocketAddr,
    accepting: JoinHandle<()>,
}

impl RoundRobin {
    /// Starts a proxy before these servers on a port that the system chooses.
    ///
    /// # Errors
    ///
    /// Returns an error if no port is free.
    pub async fn start(servers: Vec<SocketAddr>) -> Result<Self> {
        let listener = free_port().await?;
        let address = listener.local_addr()?;
        let accepting = tokio::spawn(accept(listener, servers));
        Ok(Self { address, accepting })
    }

    /// Returns the address of the proxy.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for RoundRobin {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, servers: Vec<SocketAddr>) {
    let (servers, next) = (Arc::new(servers), Arc::new(AtomicUsize::new(0)));
    while let Ok((client, _)) = listener.accept().await {
        let (servers, next) = (Arc::clone(&servers), Arc::clone(&next));
        // A side that hangs up ends the other, which sees the failure itself.
        tokio::spawn(async move { drop(pass(client, &servers, &next).await) });
    }
}

/// Passes the request of a connection on to the next server that listens.
async fn pass(mut client: TcpStream, servers: &[SocketAddr], next: &AtomicUsize) -> io::Result<()> {
    client.set_nodelay(true)?;
    let (head, rest) = read_head(&mut client).await?;
    for _ in servers {
        let number = next.fetch_add(1, Ordering::Relaxed) % servers.len();
        let Some(address) = servers.get(number) else { break };
        if let Ok(mut server) = TcpStream::connect(address).await {
            server.set_nodelay(true)?;
            // At once: a server may answer by the head alone, and close the connection before it has read the rest.
            server.write_all(&[closing(&head).as_bytes(), &rest].concat()).await?;
            copy_bidirectional(&mut client, &mut server).await?;
            return Ok(());
        }
    }
    client.write_all(b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").await
}

/// Reads the head of a request. Returns it without the empty line, with what was read behind it.
async fn read_head(client: &mut TcpStream) -> io::Result<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = bytes.windows(END.len()).position(|part| part == END) {
            let rest = bytes.split_off(end + END.len());
            bytes.truncate(end);
            return Ok((String::from_utf8_lossy(&bytes).into_owned(), rest));
        }
        if bytes.len() > MAX_HEAD_BYTES || client.read_buf(&mut bytes).await? == 0 {
            return Err(io::ErrorKind::InvalidData.into());
        }
    }
}

/// Returns a head by which the server closes the connection after its response.
fn closing(head: &str) -> String {
    let is_other = |line: &&str| !line.to_ascii_lowercase().starts_with("connection:");
    let mut closing: String = head.split("\r\n").filter(is_other).flat_map(|line| [line, "\r\n"]).collect();
    closing.push_str("connection: close\r\n\r\n");
    closing
}
