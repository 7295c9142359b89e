//! The state of an HTTP listener.

use std::net::SocketAddr;
use std::sync::Arc;

use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::sync::watch;
use toolcrib_app::App;

use super::admission::AdmissionRules;
use super::handoff::Handoff;
use super::memory_budget::BodyBudget;
use super::sessions::{ClientSessions, Sessions};
use crate::Error;
use crate::app_version::{AppVersion, Lease, Listener, Switch};
use crate::approval::PendingApprovals;
use crate::console::Console;
use crate::protocol::handler::Handler;
use crate::server::Shared;

/// The state that the requests to one listener share.
pub(super) struct HttpState {
    pub(super) shared: Arc<Shared>,
    pub(super) address: SocketAddr,
    pub(super) active: watch::Sender<ActiveApp>,
    pub(super) sessions: Arc<Sessions>,
    /// The handoff to the other processes that serve the app, if there can be any.
    pub(super) handoff: Option<Arc<Handoff>>,
    pub(super) mcp: StreamableHttpServerConfig,
    /// The memory budget of request bodies.
    pub(super) bodies: BodyBudget,
    /// The console, if there is one. The rules of the app may disable it.
    pub(super) console: Option<Console>,
    /// True if nothing but the console is served. The rules of the app do not disable it then.
    pub(super) is_console_only: bool,
    /// The approvals that people answer by links.
    pub(super) approvals: Option<PendingApprovals>,
}

/// The current app and its admission rules. They change together, so that a request admitted by one version does not
/// run in another.
pub(super) struct ActiveApp {
    pub(super) rules: Arc<AdmissionRules>,
    pub(super) version: Arc<AppVersion>,
}

impl HttpState {
    /// Returns the current admission rules, and a lease of the current app.
    pub(super) fn current(&self) -> (Arc<AdmissionRules>, Lease) {
        let active = self.active.borrow();
        (Arc::clone(&active.rules), active.version.lease())
    }

    /// Returns the protocol for a request that sees these sessions.
    pub(super) fn mcp(
        &self,
        sessions: Arc<ClientSessions>,
    ) -> StreamableHttpService<Handler, ClientSessions> {
        let shared = Arc::clone(&self.shared);
        let handler = move || Ok(Handler::over_http(Arc::clone(&shared)));
        StreamableHttpService::new(handler, sessions, self.mcp.clone())
    }

    /// Returns the console, if these rules permit it.
    pub(super) fn permitted_console(&self, rules: &AdmissionRules) -> Option<&Console> {
        self.console.as_ref().filter(|_| self.is_console_only || rules.has_page)
    }

    pub(super) fn rules(&self) -> Arc<AdmissionRules> {
        Arc::clone(&self.active.borrow().rules)
    }
}

impl Listener for HttpState {
    fn prepare(self: Arc<Self>, app: &App) -> Result<Switch, Error> {
        let rules = AdmissionRules::new(&self.shared, app, self.address, Some(&self.rules()))?;
        if let Some(url) = rules.login_url(self.address) {
            app.extensions.login_links.serve_at(url);
        }
        Ok(Box::new(move |version| {
            self.active.send_replace(ActiveApp { rules: Arc::new(rules), version });
        }))
    }
}
