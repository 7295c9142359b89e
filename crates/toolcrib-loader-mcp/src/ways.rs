//! The ways in which a server may be spoken to, and which of them works.

use std::sync::Arc;

use tokio::time::Instant;
use url::Url;

use crate::error::Error;
use crate::handler::Events;
use crate::handshake::{Era, Misunderstanding, Opening, Unopened};
use crate::session::Session;
use crate::{HttpProtocol, McpSource, McpTransport, http, sse, stdio};

/// How a server may be spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Way {
    protocol: Protocol,
    /// The path of the endpoint, where that is not the one of the URL.
    path: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protocol {
    /// Over its pipes, or over Streamable HTTP.
    Direct(Era),
    /// Over HTTP with server-sent events.
    Sse,
}

/// Where servers have their endpoints that are named by a URL without a path: for Streamable HTTP, and for HTTP with
/// server-sent events.
const USUAL_PATHS: [&str; 2] = ["/mcp", "/sse"];

/// How errors say that there is no endpoint at a URL.
const NO_ENDPOINT: &[&str] =
    &["HTTP 404", "HTTP 405", "(404 Not Found)", "(405 Method Not Allowed)", "404 Not Found", "405 Method"];

impl Way {
    /// Returns the way over pipes or Streamable HTTP, at the URL as it is written.
    pub(crate) const fn direct(era: Era) -> Self {
        Self { protocol: Protocol::Direct(era), path: None }
    }

    const fn sse() -> Self {
        Self { protocol: Protocol::Sse, path: None }
    }

    const fn at(self, path: &'static str) -> Self {
        Self { path: Some(path), ..self }
    }

    /// How a server is spoken to there that knows `server/discover` and took too long to say so.
    const fn slow(self) -> Self {
        Self { protocol: Protocol::Direct(Era::Discover), ..self }
    }

    fn is_slow(self) -> bool {
        self.protocol == Protocol::Direct(Era::Discover)
    }
}

/// Why no way worked, and which is the likeliest the next time.
pub(crate) struct Failed {
    pub(crate) error: Error,
    pub(crate) way: Option<Way>,
}

/// Opens a session in the way that worked last, or else in the first that does. The time to start holds for all of them
/// together.
pub(crate) async fn connect(
    source: &McpSource,
    known: Option<Way>,
    events: &Arc<Events>,
) -> Result<(Session, Way), Failed> {
    let deadline = Instant::now() + source.startup_timeout;
    let ways = ways(&source.transport);
    let mut next = known.or(ways.first().copied());
    let (mut tried, mut first, mut has_no_endpoint) = (Vec::new(), None, false);
    while let Some(way) = next {
        let failed = match open(source, way, deadline, events).await {
            Ok(session) => {
                let is_silent = way.protocol != Protocol::Sse && session.ignores_discover();
                let known =
                    if is_silent { Way { protocol: Protocol::Direct(Era::Initialize), ..way } } else { way };
                return Ok((session, known));
            }
            Err(failed) => failed,
        };
        let is_missing = says_no_endpoint(&failed.error);
        has_no_endpoint |= is_missing;
        first.get_or_insert(failed.error);
        tried.push(way);
        let slow = [way.slow()];
        let others = match failed.misunderstanding {
            Some(Misunderstanding::KnowsDiscover) => slow.as_slice(),
            Some(Misunderstanding::Unknown) => ways.as_slice(),
            None if is_missing => ways.as_slice(),
            None => &[],
        };
        let is_open = |way: &&Way| !tried.contains(way) && (way.path.is_none() || has_no_endpoint);
        next = others.iter().find(is_open).copied();
    }
    let error = first.unwrap_or(Error::Closed { target: source.target() });
    // There was no time left for the way that it knows.
    let way = tried.iter().find(|way| way.is_slow()).copied();
    Err(Failed { error: with_paths(error, &tried), way })
}

fn says_no_endpoint(error: &Error) -> bool {
    matches!(error, Error::Handshake { reason, .. } if NO_ENDPOINT.iter().any(|text| reason.contains(text)))
}

/// Adds the paths that were tried, where the URL has none.
fn with_paths(error: Error, tried: &[Way]) -> Error {
    let mut paths: Vec<&str> = tried.iter().filter_map(|way| way.path).collect();
    paths.dedup();
    match error {
        Error::Handshake { target, reason, said } if !paths.is_empty() => {
            let paths = paths.join("` and `");
            let reason = format!(
                "{reason} (tried the URL itself, `{paths}`; write the path of the endpoint into `url`)"
            );
            Error::Handshake { target, reason, said }
        }
        error => error,
    }
}

/// The ways to try, the likeliest first.
fn ways(transport: &McpTransport) -> Vec<Way> {
    let direct = [Way::direct(Era::Any), Way::direct(Era::Initialize)];
    let McpTransport::Http { url, protocol, .. } = transport else { return direct.to_vec() };
    let (is_streamable, is_sse) = (*protocol != HttpProtocol::Sse, *protocol != HttpProtocol::Streamable);
    let mut ways: Vec<Way> = Vec::new();
    ways.extend(direct.iter().filter(|_| is_streamable));
    ways.extend(is_sse.then_some(Way::sse()));
    if Url::parse(url).is_ok_and(|url| url.path() == "/") {
        let [streamable, sse] = USUAL_PATHS;
        ways.extend(direct.iter().filter(|_| is_streamable).map(|way| way.at(streamable)));
        ways.extend(is_sse.then_some(Way::sse().at(sse)));
    }
    ways
}

async fn open(
    source: &McpSource,
    way: Way,
    deadline: Instant,
    events: &Arc<Events>,
) -> Result<Session, Unopened> {
    let era = match way.protocol {
        Protocol::Direct(era) => era,
        Protocol::Sse => Era::Initialize,
    };
    let (target, events) = (source.target(), Arc::clone(events));
    let opening = Opening { target, era, startup_timeout: source.startup_timeout, deadline, events };
    match &source.transport {
        McpTransport::Stdio { command, env, cwd } => {
            stdio::open(source, command, env, cwd.as_deref(), opening).await
        }
        McpTransport::Http { url, headers, allow_private, .. } => {
            let mut place = http::Place::new(source, url, headers, *allow_private)?;
            if let Some(path) = way.path {
                place.url.set_path(path);
            }
            if way.protocol == Protocol::Sse {
                sse::open(place, opening).await
            } else {
                http::open(place, opening).await
            }
        }
    }
}
