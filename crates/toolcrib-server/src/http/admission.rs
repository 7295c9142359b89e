//! The admission rules and limits of an app for HTTP requests.

use std::net::SocketAddr;
use std::time::Duration;

use toolcrib_app::App;
use url::Url;

use super::allowed_hosts::AllowedHosts;
use super::auth::Authenticator;
use super::page_keys::PageKeys;
use super::rate_limit::RateLimiter;
use crate::Error;
use crate::server::Shared;

/// The path of the page to which an authorization server sends a browser back.
pub(super) const LOGIN_PATH: &str = "/oauth/callback";

/// The admission rules of one version of the app. A request keeps the rules that were current when it arrived.
pub(super) struct AdmissionRules {
    pub(super) allowed_hosts: AllowedHosts,
    pub(super) auth: Authenticator,
    /// The people who approve calls on the page.
    pub(super) people: PageKeys,
    pub(super) rate_limiter: RateLimiter,
    pub(super) has_page: bool,
    pub(super) max_sessions: usize,
    pub(super) max_body_bytes: usize,
    pub(super) body_patience: Duration,
}

impl AdmissionRules {
    /// Creates the rules of an app for a listener on this address. Returns an error if other machines can reach the
    /// address and no token is required.
    pub(super) fn new(
        shared: &Shared,
        app: &App,
        address: SocketAddr,
        earlier: Option<&Self>,
    ) -> Result<Self, Error> {
        let section = &app.config.serve;
        let auth = Authenticator::new(shared, app, earlier.map(|earlier| &earlier.auth))?;
        if !address.ip().is_loopback() && auth.is_open() {
            return Err(Error::Open { address });
        }
        let limits = &section.limits;
        let replica = shared.settings.replica.as_ref();
        let processes = replica.map(|replica| replica.processes().clone()).unwrap_or_default();
        let link_host = app.config.approvals.host();
        let hosts: Vec<String> = section.allowed_hosts.iter().cloned().chain(link_host).collect();
        Ok(Self {
            allowed_hosts: AllowedHosts::new(address, &hosts, &section.allowed_origins),
            auth,
            people: PageKeys::new(app)?,
            rate_limiter: RateLimiter::new(limits, processes),
            has_page: section.page.unwrap_or_else(|| address.ip().is_loopback()),
            max_sessions: limits.sessions.get(),
            max_body_bytes: limits.body_bytes.get(),
            body_patience: Duration::from_secs(limits.body_seconds.get().into()),
        })
    }

    /// Returns the URL that browsers come back to after a login: at the URL by which clients call this server, or at this
    /// machine. `None` if neither is known.
    pub(super) fn login_url(&self, address: SocketAddr) -> Option<String> {
        let own = || {
            let origin = format!("http://127.0.0.1:{}", address.port());
            Url::parse(&origin).ok().filter(|_| address.ip().is_loopback())
        };
        let mut url = self.auth.resource_url().cloned().or_else(own)?;
        url.set_path(LOGIN_PATH);
        url.set_query(None);
        Some(url.to_string())
    }
}
