//! Waiting for a browser on this machine.

use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use async_trait::async_trait;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;
use url::Url;

use super::authorize::{Authorize, Redirect};

/// How long a user has to log in, unless it is set.
pub const LOGIN_TIMEOUT: Duration = Duration::from_mins(5);

/// How long a browser may take to send its request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// The most bytes of a request that are read: its head.
const MAX_REQUEST_BYTES: usize = 32 * 1024;

/// The most connections at once. Browsers open some that they do not use.
const MAX_CONNECTIONS: usize = 16;

/// Where the browser is sent back to.
const PATH: &str = "/callback";

type Show = Box<dyn Fn(&Url) + Send + Sync>;

/// Shows the URL to the user, and waits at a port of this machine for the browser to come back.
pub struct LoopbackRedirect {
    listener: TcpListener,
    redirect_uri: String,
    show: Show,
    timeout: Duration,
}

impl LoopbackRedirect {
    /// Listens at a port that is free; at this one if it is.
    pub async fn bind(port: Option<u16>, show: impl Fn(&Url) + Send + Sync + 'static) -> io::Result<Self> {
        let wanted = match port {
            Some(port) => TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.ok(),
            None => None,
        };
        let listener = match wanted {
            Some(listener) => listener,
            None => TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?,
        };
        let redirect_uri = format!("http://{}{PATH}", listener.local_addr()?);
        Ok(Self { listener, redirect_uri, show: Box::new(show), timeout: LOGIN_TIMEOUT })
    }

    /// The port that is listened at.
    pub fn port(&self) -> Option<u16> {
        self.listener.local_addr().ok().map(|address| address.port())
    }

    /// Sets how long the user has.
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Waits for the request with this state. Others may come from anybody, and are turned away.
    async fn wait(&self, state: Option<&str>) -> Redirect {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                Some(answer) = connections.join_next(), if !connections.is_empty() => {
                    if let Ok(Some(redirect)) = answer {
                        return redirect;
                    }
                }
                Ok((stream, _)) = self.listener.accept(), if connections.len() < MAX_CONNECTIONS => {
                    let state = state.map(str::to_owned);
                    let base = self.redirect_uri.clone();
                    connections.spawn(async move {
                        timeout(REQUEST_TIMEOUT, serve(stream, &base, state.as_deref())).await.ok().flatten()
                    });
                }
            }
        }
    }
}

#[async_trait]
impl Authorize for LoopbackRedirect {
    fn redirect_uri(&self) -> &str {
        &self.redirect_uri
    }

    async fn authorize(&self, url: &Url) -> Result<Redirect, String> {
        let state = url.query_pairs().find(|(name, _)| name == "state").map(|(_, state)| state.into_owned());
        (self.show)(url);
        timeout(self.timeout, self.wait(state.as_deref()))
            .await
            .map_err(|_| format!("nobody logged in within {} s; start again", self.timeout.as_secs_f32()))
    }
}

/// Answers one request. What it brought, if it was the one that is waited for.
async fn serve(mut stream: TcpStream, base: &str, state: Option<&str>) -> Option<Redirect> {
    let head = read_head(&mut stream).await?;
    let target = head.strip_prefix("GET ").and_then(|rest| rest.split_once(' ')).map(|(target, _)| target);
    let url = target.and_then(|target| Url::parse(base).ok()?.join(target).ok());
    let redirect = url
        .filter(|url| url.path() == PATH && url.as_str().starts_with(base))
        .map(|url| Redirect::from_url(&url));
    let redirect = redirect.filter(|redirect| redirect.state.as_deref() == state);
    let (status, text) = match redirect {
        Some(_) => {
            ("200 OK", "The answer has arrived. You can close this window and go back to the terminal.")
        }
        None => ("404 Not Found", "This is not the answer to a login that is under way."),
    };
    let answer = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {}\r\n\
         cache-control: no-store\r\nreferrer-policy: no-referrer\r\nx-content-type-options: nosniff\r\n\
         connection: close\r\n\r\n{text}\n",
        text.len() + 1
    );
    // The browser may be gone; what it brought is here.
    if stream.write_all(answer.as_bytes()).await.is_ok() {
        let _ = stream.shutdown().await;
    }
    redirect
}

async fn read_head(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    let mut chunk = [0; 4096];
    while !head.windows(4).any(|window| window == b"\r\n\r\n") {
        let count = stream.read(&mut chunk).await.ok().filter(|count| *count > 0)?;
        head.extend_from_slice(chunk.get(..count)?);
        if head.len() > MAX_REQUEST_BYTES {
            return None;
        }
    }
    String::from_utf8(head).ok()
}
