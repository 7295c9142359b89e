//! Serving many clients over Streamable HTTP.
//!
//! A request passes these checks in order. The first that fails rejects it with the given status:
//!
//! 1. the connection: the number of connections (503), and the size (431) and duration (408) of the head;
//! 2. `allowed_hosts`: the host name of the request, and the web page that sent it (403);
//! 3. `auth`: its token (401, 403; 503 while it cannot be checked);
//! 4. `rate_limit`: the number of open requests of its client, and their rate (429);
//! 5. `body`: its size (413) and duration (408), the memory in use by all bodies (503, `memory_budget`), and one
//!    message that can be parsed in only one way (400);
//! 6. `handoff`: a session of another process, which gets the request;
//! 7. the protocol: headers, revisions and sessions (400, 404, 405, 406, 415).

mod admission;
mod allowed_hosts;
mod approve;
mod auth;
mod body;
mod browser;
mod connections;
mod console;
mod endpoint;
mod event_stream;
mod handoff;
mod login_callback;
mod memory_budget;
mod page_keys;
mod rate_limit;
mod reply;
mod sessions;
mod state;
mod write_timeout;

#[cfg(test)]
mod tests;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::routing::{any, get, post};
use rmcp::transport::streamable_http_server::StreamableHttpServerConfig;
use tokio::net::TcpListener;
use tokio::sync::watch;
use toolcrib_app::sections::serve::MAX_BODY_BYTES;
use toolcrib_oauth::metadata::PROTECTED_RESOURCE;
use url::Url;

use self::admission::{AdmissionRules, LOGIN_PATH};
use self::handoff::Handoff;
use self::memory_budget::BodyBudget;
use self::sessions::Sessions;
use self::state::{ActiveApp, HttpState};
use crate::app_version::Listener;
use crate::approval::LINK_PATH;
use crate::console::Page;
use crate::{Error, Server};

/// The time that running calls have to end when the server shuts down.
pub const DRAIN: Duration = Duration::from_secs(10);

/// The time that connections have to close after that.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// A server that listens but does not accept connections yet.
pub struct HttpServer {
    listener: TcpListener,
    address: SocketAddr,
    state: Arc<HttpState>,
}

impl Server {
    /// Listens on an address. Returns an error if other machines can reach the address and no token is required.
    pub async fn listen(&self, address: SocketAddr) -> Result<HttpServer, Error> {
        self.listen_as(address, false).await
    }

    /// Listens on a port of this machine, to serve nothing but the console. 0 is any free port.
    pub async fn listen_console(&self, port: u16) -> Result<HttpServer, Error> {
        self.listen_as((Ipv4Addr::LOCALHOST, port).into(), true).await
    }

    async fn listen_as(&self, address: SocketAddr, is_console_only: bool) -> Result<HttpServer, Error> {
        let _no_reload = self.shared.reloading.lock().await;
        let version = self.shared.version();
        let app = version.runtime.app();
        let bind = |source| Error::Bind { address, source };
        // Checked once before anything is bound.
        AdmissionRules::new(&self.shared, app, address, None)?;
        let listener = TcpListener::bind(address).await.map_err(bind)?;
        let address = listener.local_addr().map_err(bind)?;
        let rules = Arc::new(AdmissionRules::new(&self.shared, app, address, None)?);
        let mcp = StreamableHttpServerConfig::default()
            // The admission rules check all three first.
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_max_request_body_bytes(MAX_BODY_BYTES)
            .with_cancellation_token(self.shared.closing.child_token());
        let replica = self.shared.settings.replica.as_ref();
        let handoff = replica.map(Handoff::new).transpose()?.map(Arc::new);
        // Other processes hand requests of sessions over to those that serve any.
        if let Some(replica) = replica.filter(|_| !is_console_only) {
            if let Some(console) = &self.console {
                console.inner.join(replica);
            }
            let of_listener = Url::parse(&format!("http://{address}")).ok();
            let of_listener = of_listener.filter(|_| !address.ip().is_unspecified());
            replica.set_url(app.config.serve.handoff_url(&app.file)?.or(of_listener)).await?;
        }
        let state = HttpState {
            shared: Arc::clone(&self.shared),
            address,
            handoff: handoff.clone(),
            active: watch::Sender::new(ActiveApp { rules, version }),
            sessions: Sessions::new(handoff),
            mcp,
            bodies: BodyBudget::default(),
            console: self.console.clone(),
            is_console_only,
            approvals: self.approvals.clone(),
        };
        let state = Arc::new(state);
        if let Some(url) = state.rules().login_url(address) {
            self.shared.runtime().app().extensions.login_links.serve_at(url);
        }
        let mut listeners = self.shared.listeners.lock();
        listeners.push(Arc::downgrade(&(Arc::clone(&state) as Arc<dyn Listener>)));
        drop(listeners);
        Ok(HttpServer { listener, address, state })
    }
}

impl HttpServer {
    /// Returns the address of the listener, with the assigned port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns true if no token is required.
    pub fn is_open(&self) -> bool {
        self.state.rules().auth.is_open()
    }

    /// Returns true if there is a console at `/`.
    pub fn has_console(&self) -> bool {
        self.state.permitted_console(&self.state.rules()).is_some()
    }

    /// Serves until `leave` completes. Then accepts no further calls, waits for the running ones for at most [`DRAIN`],
    /// and cancels the rest. A call that waits for a person fails at once.
    pub async fn serve(self, leave: impl Future<Output = ()>) -> Result<(), Error> {
        let Self { listener, state, .. } = self;
        let shared = Arc::clone(&state.shared);
        let approvals = state.approvals.clone();
        let limits = shared.runtime().app().config.serve.limits.clone();
        let routes =
            if state.is_console_only { console_routes() } else { console_routes().merge(app_routes()) };
        let router = routes.with_state(state);
        let serving = connections::serve(listener, router, &limits, Arc::clone(&shared));
        tokio::pin!(serving);
        tokio::select! {
            () = &mut serving => {}
            () = leave => {
                if let Some(pending) = &approvals {
                    // Before the calls that wait for a person end.
                    pending.end();
                }
                shared.draining.cancel();
                let drained = tokio::time::timeout(DRAIN, shared.idle());
                tokio::select! {
                    _ = drained => {}
                    () = &mut serving => {}
                }
                shared.closing.cancel();
                shared.suspended.clear();
                let _ = tokio::time::timeout(CLOSE_TIMEOUT, &mut serving).await;
            }
        }
        Ok(())
    }
}

/// Returns the routes for clients of the app, and for those who look after it.
fn app_routes() -> Router<Arc<HttpState>> {
    Router::new()
        .route("/mcp", any(endpoint::mcp))
        .route("/mcp/{profile}", any(endpoint::mcp_of_profile))
        .route(&format!("{LINK_PATH}{{token}}"), get(approve::show).post(approve::answer))
        .route("/metrics", get(endpoint::metrics))
        .route(PROTECTED_RESOURCE, get(endpoint::resource))
        .route(&format!("{PROTECTED_RESOURCE}/{{*path}}"), get(endpoint::resource))
        .route("/healthz", get(endpoint::healthz))
        .route("/readyz", get(endpoint::readyz))
}

/// Returns the routes of the console, and of the logins that its viewers begin.
fn console_routes() -> Router<Arc<HttpState>> {
    let pages = Page::ALL.into_iter();
    let router = pages.fold(Router::new(), |router, page| router.route(page.path(), get(console::show)));
    router
        .route("/console.css", get(console::style))
        .route("/console.js", get(console::script))
        .route("/worker.js", get(console::worker))
        .route("/push", get(console::push_key).post(console::subscribe))
        .route("/events", get(console::events))
        .route("/sign-in", post(console::submit_key))
        .route("/answer", post(console::answer))
        .route("/reply", post(console::reply))
        .route("/profile", post(console::select_profile))
        .route("/override", post(console::change_override))
        .route("/try", post(console::call_tool))
        .route("/replay", post(console::replay))
        .route(LOGIN_PATH, get(login_callback::ask).post(login_callback::agree))
}
