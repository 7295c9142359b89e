//! Serving many clients over Streamable HTTP.
//!
//! A request passes these checks in order. The first that fails rejects it with the given status:
//!
//! 1. the connection: the number of connections (503), and the size (431) and duration (408) of the head;
//! 2. [`names`]: the host name of the request, and the web page that sent it (403);
//! 3. [`access`]: its token (401, 403; 503 while it cannot be checked);
//! 4. [`share`]: the number of open requests of its client, and their rate (429);
//! 5. [`body`]: its size (413) and duration (408), the memory in use by all bodies (503, [`budget`]), and one message
//! that can be parsed in only one way (400);
//! 6. the protocol: headers, revisions and sessions (400, 404, 405, 406, 415).

mod access;
mod body;
mod budget;
mod connections;
mod endpoint;
mod names;
mod paced;
mod page;
mod reply;
mod rules;
mod sessions;
mod share;
mod unanswered;

#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::routing::{any, get, post};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;
use tokio::sync::watch;
use toolcrib_runtime::MAX_BODY_BYTES;

pub use budget::{FREE_BODY_BYTES, MAX_BODY_BYTES_AT_ONCE, MAX_UNREAD_BYTES};
pub use connections::{MAX_HEAD_BYTES, MAX_HEADERS};
pub use paced::{MIN_READ_RATE, WRITE_PATIENCE};
pub use sessions::MAX_SESSIONS_OF_CLIENT;

use self::budget::BodyBudget;
pub(crate) use self::rules::NewRules;
use self::rules::Rules;
use self::sessions::Sessions;
use crate::handler::Handler;
use crate::page::StatusPage;
use crate::server::Shared;
use crate::version::{Lease, Version};
use crate::{Error, Server};

/// The time that running calls have to end when the server shuts down.
pub const DRAIN: Duration = Duration::from_secs(10);

/// The time that connections have to close after that.
const LAST_WORDS: Duration = Duration::from_secs(1);

type McpService = StreamableHttpService<Handler, Sessions>;

/// The state that the requests to one listener share.
pub(crate) struct Door {
    shared: Arc<Shared>,
    address: SocketAddr,
    entry: watch::Sender<Entry>,
    sessions: Arc<Sessions>,
    mcp: McpService,
    /// The memory budget of request bodies.
    bodies: BodyBudget,
    /// The status page, if there is one. The rules of the app may disable it.
    page: Option<StatusPage>,
}

/// The current app and its admission rules. They change together, so that a request admitted by one version does not
/// run in another.
struct Entry {
    rules: Arc<Rules>,
    version: Arc<Version>,
}

impl Door {
    /// Returns the current admission rules, and a lease of the current app.
    fn enter(&self) -> (Arc<Rules>, Lease) {
        let entry = self.entry.borrow();
        (Arc::clone(&entry.rules), entry.version.lease())
    }

    fn rules(&self) -> Arc<Rules> {
        Arc::clone(&self.entry.borrow().rules)
    }
}

/// A server that listens but does not accept connections yet.
pub struct HttpServer {
    listener: TcpListener,
    address: SocketAddr,
    door: Arc<Door>,
}

impl Server {
    /// Listens on an address. Returns an error if other machines can reach the address and no token is required.
    pub async fn listen(&self, address: SocketAddr) -> Result<HttpServer, Error> {
        let _no_reload = self.shared.reloading.lock().await;
        let version = self.shared.version();
        let app = version.runtime.app();
        let bind = |source| Error::Bind { address, source };
        // Checked once before anything is bound.
        Rules::new(&self.shared, app, address, None)?;
        let listener = TcpListener::bind(address).await.map_err(bind)?;
        let address = listener.local_addr().map_err(bind)?;
        let rules = Arc::new(Rules::new(&self.shared, app, address, None)?);
        let sessions = Arc::new(Sessions::default());
        let config = StreamableHttpServerConfig::default()
            // The admission rules check all three first.
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_max_request_body_bytes(MAX_BODY_BYTES)
            .with_cancellation_token(self.shared.closing.child_token());
        let shared = Arc::clone(&self.shared);
        let mcp = StreamableHttpService::new(
            move || Ok(Handler::over_http(Arc::clone(&shared))),
            Arc::clone(&sessions),
            config,
        );
        let door = Door {
            shared: Arc::clone(&self.shared),
            address,
            entry: watch::Sender::new(Entry { rules, version }),
            sessions,
            mcp,
            bodies: BodyBudget::default(),
            page: self.page.clone(),
        };
        let door = Arc::new(door);
        let mut doors = self.shared.doors.lock().unwrap_or_else(PoisonError::into_inner);
        doors.push(Arc::downgrade(&door));
        drop(doors);
        Ok(HttpServer { listener, address, door })
    }
}

impl HttpServer {
    /// Returns the address of the listener, with the assigned port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns true if no token is required.
    pub fn is_open(&self) -> bool {
        self.door.rules().access.is_open()
    }

    /// Returns true if there is a status page at `/`.
    pub fn has_page(&self) -> bool {
        self.door.page.is_some() && self.door.rules().has_page
    }

    /// Serves until `leave` completes. Then accepts no further calls, waits for the running ones for at most [`DRAIN`],
    /// and cancels the rest.
    pub async fn serve(self, leave: impl Future<Output = ()>) -> Result<(), Error> {
        let Self { listener, door, .. } = self;
        let shared = Arc::clone(&door.shared);
        let limits = shared.runtime().app().config.serve.limits.clone();
        let router = Router::new()
            .route("/mcp", any(endpoint::mcp))
            .route("/", get(page::show))
            .route("/status.css", get(page::style))
            .route("/sign-in", post(page::enter))
            .route("/answer", post(page::answer))
            .route("/reply", post(page::reply))
            .route("/metrics", get(endpoint::metrics))
            .route(access::WELL_KNOWN, get(endpoint::resource))
            .route(&format!("{}/{{*path}}", access::WELL_KNOWN), get(endpoint::resource))
            .route("/healthz", get(endpoint::healthz))
            .route("/readyz", get(endpoint::readyz))
            .with_state(door);
        let serving = connections::serve(listener, router, &limits, Arc::clone(&shared));
        tokio::pin!(serving);
        tokio::select! {
            () = &mut serving => {}
            () = leave => {
                shared.draining.cancel();
                let drained = tokio::time::timeout(DRAIN, shared.idle());
                tokio::select! {
                    _ = drained => {}
                    () = &mut serving => {}
                }
                shared.closing.cancel();
                shared.parked.clear();
                let _ = tokio::time::timeout(LAST_WORDS, &mut serving).await;
            }
        }
        Ok(())
    }
}
