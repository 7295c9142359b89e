//! The redirect to a port of this machine, where the runtime waits for the browser.

use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use async_trait::async_trait;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;
use url::Url;

use crate::client::LOGIN_TIMEOUT;
use crate::client::{Authorize, Redirect};

/// The time limit for the browser's request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// The largest request head, in bytes.
const MAX_REQUEST_BYTES: usize = 32 * 1024;

/// The largest number of concurrent connections. Browsers open some that they do not use.
const MAX_CONNECTIONS: usize = 16;

/// The path of the redirect URI.
const PATH: &str = "/callback";

type Show = Box<dyn Fn(&Url) + Send + Sync>;

/// A redirect to a port of this machine. It shows the URL to the user, and waits for the browser to return.
pub struct LoopbackRedirect {
    listener: TcpListener,
    redirect_uri: String,
    show: Show,
    timeout: Duration,
}

impl LoopbackRedirect {
    /// Listens on this port, or on any free one if it is taken or `None`.
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

    /// Returns the port.
    pub fn port(&self) -> Option<u16> {
        self.listener.local_addr().ok().map(|address| address.port())
    }

    /// Sets the time limit for the login.
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Waits for the request with this state. Requests without it may come from anywhere, and are rejected.
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
            .map_err(|_| format!("no user logged in within {} s; start again", self.timeout.as_secs_f32()))
    }
}

/// Answers one request. Returns its parameters if it is the expected redirect.
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
    // The browser may have gone away; its parameters have arrived.
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
