//! The ways in which a server may be spoken to, and which of them works.

use std::sync::Arc;

use tokio::time::Instant;

use crate::error::Error;
use crate::handler::Events;
use crate::handshake::{Era, Misunderstanding, Opening, Unopened};
use crate::session::Session;
use crate::{HttpProtocol, McpSource, McpTransport, http, sse, stdio};

/// How a server may be spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Over its pipes, or over Streamable HTTP.
    Direct(Era),
    /// Over HTTP with server-sent events.
    Sse,
}

/// How a server is spoken to that knows `server/discover` and took too long to say so.
const SLOW: Way = Way::Direct(Era::Discover);

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
    let (mut tried, mut first) = (Vec::new(), None);
    while let Some(way) = next {
        let failed = match open(source, way, deadline, events).await {
            Ok(session) => {
                let is_silent = way != Way::Sse && session.ignores_discover();
                let known = if is_silent { Way::Direct(Era::Initialize) } else { way };
                return Ok((session, known));
            }
            Err(failed) => failed,
        };
        first.get_or_insert(failed.error);
        tried.push(way);
        let others = match failed.misunderstanding {
            None => &[][..],
            Some(Misunderstanding::KnowsDiscover) => &[SLOW],
            Some(Misunderstanding::Unknown) => &ways,
        };
        next = others.iter().find(|way| !tried.contains(way)).copied();
    }
    let error = first.unwrap_or(Error::Closed { target: source.target() });
    // There was no time left for the way that it knows.
    let way = tried.contains(&SLOW).then_some(SLOW);
    Err(Failed { error, way })
}

/// The ways to try, the likeliest first.
fn ways(transport: &McpTransport) -> Vec<Way> {
    let (any, old) = (Way::Direct(Era::Any), Way::Direct(Era::Initialize));
    match transport {
        McpTransport::Stdio { .. } | McpTransport::Http { protocol: HttpProtocol::Streamable, .. } => {
            vec![any, old]
        }
        McpTransport::Http { protocol: HttpProtocol::Any, .. } => vec![any, old, Way::Sse],
        McpTransport::Http { protocol: HttpProtocol::Sse, .. } => vec![Way::Sse],
    }
}

async fn open(
    source: &McpSource,
    way: Way,
    deadline: Instant,
    events: &Arc<Events>,
) -> Result<Session, Unopened> {
    let era = match way {
        Way::Direct(era) => era,
        Way::Sse => Era::Initialize,
    };
    let (target, events) = (source.target(), Arc::clone(events));
    let opening = Opening { target, era, startup_timeout: source.startup_timeout, deadline, events };
    match &source.transport {
        McpTransport::Stdio { command, env, cwd } => {
            stdio::open(source, command, env, cwd.as_deref(), opening).await
        }
        McpTransport::Http { url, headers, allow_private, .. } => {
            let place = http::Place::new(source, url, headers, *allow_private)?;
            if way == Way::Sse { sse::open(place, opening).await } else { http::open(place, opening).await }
        }
    }
}
