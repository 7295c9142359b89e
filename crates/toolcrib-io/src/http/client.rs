//! The client.

use std::error::Error as _;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use bytes::{Bytes, BytesMut};
use http::header::LOCATION;
use reqwest::redirect;
use url::{Host, Url};

use super::message::{Incoming, Request, Response};
use super::policy::{CONNECT_TIMEOUT, HttpPolicy, MAX_IDLE_CONNECTIONS_PER_HOST};
use super::resolver::{GuardedResolver, NameService, RefusedAddress, admit};
use super::tls;
use crate::Error;

/// The value of the header `User-Agent`.
const USER_AGENT: &str = concat!("toolcrib/", env!("CARGO_PKG_VERSION"));

/// An HTTP client under an [`HttpPolicy`]. Clones share their connections.
#[derive(Clone, Debug)]
pub struct HttpClient {
    policy: HttpPolicy,
    has_roots: bool,
    guards: Vec<HostGuard>,
    inner: reqwest::Client,
}

/// A predicate for the hosts and ports that a client may connect to.
#[derive(Clone)]
struct HostGuard(Arc<HostPredicate>);

type HostPredicate = dyn Fn(&str, u16) -> bool + Send + Sync;

impl fmt::Debug for HostGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HostGuard")
    }
}

impl HttpClient {
    /// Creates a client that obeys a policy.
    pub fn new(policy: HttpPolicy) -> Result<Self, Error> {
        Self::with_names(policy, NameService::System)
    }

    /// Returns a client that looks names up there.
    pub(super) fn with_names(policy: HttpPolicy, names: NameService) -> Result<Self, Error> {
        let tls = tls::configure()?;
        let inner = reqwest::Client::builder()
            .tls_backend_preconfigured(tls.config)
            .dns_resolver(Arc::new(GuardedResolver { allow_private: policy.allow_private, names }))
            .redirect(same_origin(policy.max_redirects))
            .no_proxy()
            .referer(false)
            .connect_timeout(CONNECT_TIMEOUT)
            .pool_max_idle_per_host(MAX_IDLE_CONNECTIONS_PER_HOST)
            .user_agent(USER_AGENT)
            .build()
            .map_err(|error| Error::ClientFailed { reason: causes(&error) })?;
        Ok(Self { policy, has_roots: tls.has_roots, guards: Vec::new(), inner })
    }

    /// Restricts requests to the hosts and ports that the guard admits, in addition to the policy and to earlier guards. The
    /// guard receives the host as the URL names it, before anything is sent. Redirects do not leave that host.
    pub fn with_guard(mut self, admits: impl Fn(&str, u16) -> bool + Send + Sync + 'static) -> Self {
        self.guards.push(HostGuard(Arc::new(admits)));
        self
    }

    /// Returns the policy.
    pub fn policy(&self) -> &HttpPolicy {
        &self.policy
    }

    /// The client inside, for libraries that want one of their own and keep streams open for long. It resolves names
    /// and treats redirects as this one does, but has no timeout beyond that of connecting, no limit on bodies, and
    /// **no check of hosts that are addresses**: [`check_url`](Self::check_url) comes first.
    pub fn reqwest_client(&self) -> &reqwest::Client {
        &self.inner
    }

    /// Refuses a URL that is not `http` or `https`, one whose host the guard does not admit, one whose host is an
    /// address that the policy forbids, and `https` on a machine without root certificates. Names are checked when they are
    /// resolved.
    pub fn check_url(&self, url: &Url) -> Result<(), Error> {
        if !matches!(url.scheme(), "http" | "https") {
            let reason = "only http and https are supported; write the URL with one of them";
            return Err(Error::InvalidUrl { url: display_url(url), reason });
        }
        let address = match url.host() {
            None => {
                return Err(Error::InvalidUrl { url: display_url(url), reason: "it has no host; add one" });
            }
            Some(Host::Domain(_)) => None,
            Some(Host::Ipv4(address)) => Some(IpAddr::V4(address)),
            Some(Host::Ipv6(address)) => Some(IpAddr::V6(address)),
        };
        let (host, port) =
            (url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or_default());
        if !self.guards.iter().all(|HostGuard(admits)| admits(host, port)) {
            return Err(Error::HostNotAllowed { host: host.to_owned(), port });
        }
        if let Some(address) = address
            && !self.policy.allow_private
        {
            admit(host, &[SocketAddr::new(address, 0)]).map_err(|refused| refusal(&refused))?;
        }
        if url.scheme() == "https" && !self.has_roots {
            return Err(Error::RootCertificatesMissing { url: display_url(url) });
        }
        Ok(())
    }

    /// Sends the request and reads the answer, up to the limits of the policy. A status of failure is an answer, and
    /// so is a redirect that is not followed.
    pub async fn send(&self, request: Request) -> Result<Response, Error> {
        self.check_url(&request.url)?;
        let url = display_url(&request.url);
        let timeout = self.policy.timeout;
        match tokio::time::timeout(timeout, self.exchange(request)).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(explain(error, url)),
            Err(_) => Err(Error::RequestTimedOut { url, timeout }),
        }
    }

    /// Sends the request and reads the head of the answer. Its body is read by [`Incoming::chunk`], without the limit of
    /// the policy on its size; the timeout of the policy holds for the head, and again for each piece of the body.
    pub async fn open(&self, request: Request) -> Result<Incoming, Error> {
        self.check_url(&request.url)?;
        let url = display_url(&request.url);
        let timeout = self.policy.timeout;
        match tokio::time::timeout(timeout, self.head(request)).await {
            Ok(Ok(mut response)) => Ok(Incoming {
                status: response.status(),
                headers: std::mem::take(response.headers_mut()),
                url,
                timeout,
                inner: response,
            }),
            Ok(Err(error)) => Err(explain(error, url)),
            Err(_) => Err(Error::RequestTimedOut { url, timeout }),
        }
    }

    async fn exchange(&self, request: Request) -> reqwest::Result<Response> {
        let began = Instant::now();
        let mut response = self.head(request).await?;
        let (body, truncated) = read(&mut response, self.policy.max_response_bytes).await?;
        Ok(Response {
            status: response.status(),
            headers: std::mem::take(response.headers_mut()),
            body,
            truncated,
            elapsed: began.elapsed(),
        })
    }

    /// Sends the request, follows what redirects it may, and reads the head of the last answer.
    async fn head(&self, request: Request) -> reqwest::Result<reqwest::Response> {
        let Request { method, mut url, headers, body, max_redirects } = request;
        let mut followed = 0;
        loop {
            let next = (followed < max_redirects).then(|| url.clone());
            let mut prepared = self.inner.request(method.clone(), url).headers(headers.clone());
            if let Some(body) = &body {
                prepared = prepared.body(body.clone());
            }
            let response = prepared.send().await?;
            match next.and_then(|from| self.redirected(&from, &response)) {
                Some(to) => url = to,
                None => return Ok(response),
            }
            followed += 1;
        }
    }
}

impl Incoming {
    /// Returns the next piece of the body; none at its end.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, Error> {
        match tokio::time::timeout(self.timeout, self.inner.chunk()).await {
            Ok(Ok(chunk)) => Ok(chunk),
            Ok(Err(error)) => Err(explain(error, self.url.clone())),
            Err(_) => Err(Error::RequestTimedOut { url: self.url.clone(), timeout: self.timeout }),
        }
    }
}

impl HttpClient {
    /// Returns the target of a redirect that may be followed: one at the same origin, whose credentials the request may
    /// carry, that a direct request could reach too.
    fn redirected(&self, from: &Url, response: &reqwest::Response) -> Option<Url> {
        if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
            return None;
        }
        let location = response.headers().get(LOCATION)?.to_str().ok()?;
        let mut to = from.join(location).ok()?;
        // The client would make an `Authorization` header of these, in place of the one of the request.
        to.set_username("").and_then(|()| to.set_password(None)).ok()?;
        (to.origin() == from.origin() && self.check_url(&to).is_ok()).then_some(to)
    }
}

/// Reads up to `limit` bytes of the body; the rest is not even received.
async fn read(response: &mut reqwest::Response, limit: usize) -> reqwest::Result<(Bytes, bool)> {
    let mut body = BytesMut::new();
    while let Some(chunk) = response.chunk().await? {
        let room = limit - body.len();
        body.extend_from_slice(chunk.get(..chunk.len().min(room)).unwrap_or_default());
        if chunk.len() > room {
            return Ok((body.freeze(), true));
        }
    }
    Ok((body.freeze(), false))
}

/// Follows redirects within the origin of the request, whose credentials it may carry.
fn same_origin(limit: usize) -> redirect::Policy {
    redirect::Policy::custom(move |attempt| {
        let stays = attempt.previous().last().is_some_and(|last| last.origin() == attempt.url().origin());
        // A redirect loop would repeat the request.
        let is_new = !attempt.previous().contains(attempt.url());
        if stays && is_new && attempt.previous().len() <= limit { attempt.follow() } else { attempt.stop() }
    })
}

/// Returns the URL for errors and logs, without the parts that often hold keys.
pub fn display_url(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    // These fail only for URLs without a host, which have neither.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.into()
}

fn refusal(refused: &RefusedAddress) -> Error {
    Error::AddressRefused { host: refused.host.clone(), address: refused.address, class: refused.class }
}

/// Converts an error of the HTTP library.
fn explain(error: reqwest::Error, url: String) -> Error {
    let error = error.without_url();
    let mut cause = error.source();
    while let Some(current) = cause {
        if let Some(refused) = current.downcast_ref::<RefusedAddress>() {
            return refusal(refused);
        }
        cause = current.source();
    }
    let reason = causes(&error);
    if error.is_connect() {
        Error::ConnectFailed { url, reason }
    } else {
        Error::RequestFailed { url, reason }
    }
}

/// Messages of layers that only say that what is below them failed.
const LAYERS: [&str; 8] = [
    "error sending request",
    "client error (Connect)",
    "client error (SendRequest)",
    "error trying to connect",
    "tcp connect error",
    "dns error",
    "error resolving DNS",
    "failed to lookup address information",
];

/// Returns the messages of an error and of its causes, each once, without those that add nothing to their cause.
pub fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(current) = cause {
        let message = current.to_string();
        if LAYERS.contains(&text.as_str()) {
            text = message;
        } else if !text.contains(&message) {
            text.push_str(": ");
            text.push_str(&message);
        }
        cause = current.source();
    }
    text
}
