//! The negotiation of transport, endpoint path and handshake with a server.

use std::sync::Arc;

use tokio::time::Instant;
use url::Url;

use crate::connection::client_handler::ServerEvents;
use crate::connection::handshake::{Fallback, HandshakeError, HandshakeMode, HandshakeOptions};
use crate::connection::session::Session;
use crate::error::Error;
use crate::transport::{sse, stdio, streamable_http};
use crate::{HttpProtocol, McpSource, McpTransport};

/// A combination of transport, handshake and endpoint path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    protocol: Protocol,
    /// The path of the endpoint, if it is not that of the URL.
    path: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protocol {
    /// Pipes, or Streamable HTTP.
    Direct(HandshakeMode),
    /// HTTP with server-sent events.
    Sse,
}

/// The usual endpoint paths of servers whose URL has no path: for Streamable HTTP, and for HTTP with server-sent
/// events.
const USUAL_PATHS: [&str; 2] = ["/mcp", "/sse"];

/// The texts in errors that report a missing endpoint.
const NO_ENDPOINT: &[&str] =
    &["HTTP 404", "HTTP 405", "(404 Not Found)", "(405 Method Not Allowed)", "404 Not Found", "405 Method"];

impl Candidate {
    /// Returns the candidate for pipes or Streamable HTTP, at the URL as it is written.
    pub(crate) const fn direct(mode: HandshakeMode) -> Self {
        Self { protocol: Protocol::Direct(mode), path: None }
    }

    /// Returns the candidate for HTTP with server-sent events.
    const fn sse() -> Self {
        Self { protocol: Protocol::Sse, path: None }
    }

    /// Returns the same candidate at another path.
    const fn at(self, path: &'static str) -> Self {
        Self { path: Some(path), ..self }
    }

    /// Returns the candidate for a server that knows `server/discover` and answered it too late.
    const fn with_slow_discover(self) -> Self {
        Self { protocol: Protocol::Direct(HandshakeMode::Discover), ..self }
    }

    fn is_slow_discover(self) -> bool {
        self.protocol == Protocol::Direct(HandshakeMode::Discover)
    }
}

/// The error of a negotiation, and the candidate to begin with the next time.
pub(crate) struct NegotiationError {
    pub(crate) error: Error,
    pub(crate) candidate: Option<Candidate>,
}

/// Opens a session with the candidate that worked last, or else with the first that works. The startup timeout covers
/// all attempts together.
pub(crate) async fn negotiate(
    source: &McpSource,
    known: Option<Candidate>,
    events: &Arc<ServerEvents>,
) -> Result<(Session, Candidate), NegotiationError> {
    let deadline = Instant::now() + source.startup_timeout;
    let candidates = candidates(&source.transport);
    let mut next = known.or(candidates.first().copied());
    let (mut tried, mut first, mut has_no_endpoint) = (Vec::new(), None, false);
    while let Some(candidate) = next {
        let failed = match open(source, candidate, deadline, events).await {
            Ok(session) => {
                let ignores_discover = candidate.protocol != Protocol::Sse && session.ignores_discover();
                let known = if ignores_discover {
                    Candidate { protocol: Protocol::Direct(HandshakeMode::Initialize), ..candidate }
                } else {
                    candidate
                };
                return Ok((session, known));
            }
            Err(failed) => failed,
        };
        let is_missing = is_missing_endpoint(&failed.error);
        has_no_endpoint |= is_missing;
        first.get_or_insert(failed.error);
        tried.push(candidate);
        let slow_discover = [candidate.with_slow_discover()];
        let others = match failed.fallback {
            Some(Fallback::Discover) => slow_discover.as_slice(),
            Some(Fallback::Any) => candidates.as_slice(),
            None if is_missing => candidates.as_slice(),
            None => &[],
        };
        let is_untried = |candidate: &&Candidate| {
            !tried.contains(candidate) && (candidate.path.is_none() || has_no_endpoint)
        };
        next = others.iter().find(is_untried).copied();
    }
    let error = first.unwrap_or(Error::Closed { target: source.target() });
    // There was no time left for the handshake that the server knows.
    let candidate = tried.iter().find(|candidate| candidate.is_slow_discover()).copied();
    Err(NegotiationError { error: with_paths(error, &tried), candidate })
}

fn is_missing_endpoint(error: &Error) -> bool {
    matches!(error, Error::Handshake { reason, .. } if NO_ENDPOINT.iter().any(|text| reason.contains(text)))
}

/// Adds the tried paths to the error, if the URL has no path.
fn with_paths(error: Error, tried: &[Candidate]) -> Error {
    let mut paths: Vec<&str> = tried.iter().filter_map(|candidate| candidate.path).collect();
    paths.dedup();
    match error {
        Error::Handshake { target, reason, stderr } if !paths.is_empty() => {
            let paths = paths.join("` and `");
            let reason = format!(
                "{reason} (tried the URL itself, `{paths}`; write the path of the endpoint into `url`)"
            );
            Error::Handshake { target, reason, stderr }
        }
        error => error,
    }
}

/// Returns the candidates, the likeliest first.
fn candidates(transport: &McpTransport) -> Vec<Candidate> {
    let direct = [Candidate::direct(HandshakeMode::Auto), Candidate::direct(HandshakeMode::Initialize)];
    let McpTransport::Http { url, protocol, .. } = transport else { return direct.to_vec() };
    let (is_streamable, is_sse) = (*protocol != HttpProtocol::Sse, *protocol != HttpProtocol::Streamable);
    let mut candidates: Vec<Candidate> = Vec::new();
    candidates.extend(direct.iter().filter(|_| is_streamable));
    candidates.extend(is_sse.then_some(Candidate::sse()));
    if Url::parse(url).is_ok_and(|url| url.path() == "/") {
        let [streamable, sse] = USUAL_PATHS;
        candidates.extend(direct.iter().filter(|_| is_streamable).map(|candidate| candidate.at(streamable)));
        candidates.extend(is_sse.then_some(Candidate::sse().at(sse)));
    }
    candidates
}

async fn open(
    source: &McpSource,
    candidate: Candidate,
    deadline: Instant,
    events: &Arc<ServerEvents>,
) -> Result<Session, HandshakeError> {
    let mode = match candidate.protocol {
        Protocol::Direct(mode) => mode,
        Protocol::Sse => HandshakeMode::Initialize,
    };
    let (target, events) = (source.target(), Arc::clone(events));
    let options =
        HandshakeOptions { target, mode, startup_timeout: source.startup_timeout, deadline, events };
    match &source.transport {
        McpTransport::Stdio { command, env, cwd, sandbox } => {
            stdio::open(source, command, env, cwd.as_deref(), sandbox.clone(), options).await
        }
        McpTransport::Http { url, headers, allow_private, .. } => {
            let mut endpoint = streamable_http::HttpEndpoint::new(source, url, headers, *allow_private)?;
            if let Some(path) = candidate.path {
                endpoint.url.set_path(path);
            }
            if candidate.protocol == Protocol::Sse {
                sse::open(endpoint, options).await
            } else {
                streamable_http::open(endpoint, options).await
            }
        }
    }
}
