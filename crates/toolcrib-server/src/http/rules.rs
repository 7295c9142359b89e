//! The admission rules and limits of an app for HTTP requests.

use std::net::SocketAddr;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use toolcrib_runtime::App;

use super::access::Access;
use super::names::Names;
use super::share::Shares;
use super::{Door, Entry};
use crate::Error;
use crate::server::Shared;
use crate::version::Version;

/// The admission rules of one version of the app. A request keeps the rules that were current when it arrived.
pub(super) struct Rules {
    pub(super) names: Names,
    pub(super) access: Access,
    pub(super) shares: Shares,
    pub(super) has_page: bool,
    pub(super) max_sessions: usize,
    pub(super) max_body_bytes: usize,
    pub(super) body_patience: Duration,
}

/// The admission rules of a listener for the next version of the app.
pub(crate) struct NewRules {
    door: Arc<Door>,
    rules: Rules,
}

impl Rules {
    /// Creates the rules of an app for a listener on this address. Returns an error if other machines can reach the
    /// address and no token is required.
    pub(super) fn new(
        shared: &Shared,
        app: &App,
        address: SocketAddr,
        earlier: Option<&Self>,
    ) -> Result<Self, Error> {
        let section = &app.config.serve;
        let access = Access::new(shared, app, earlier.map(|earlier| &earlier.access))?;
        if !address.ip().is_loopback() && access.is_open() {
            return Err(Error::Open { address });
        }
        let limits = &section.limits;
        Ok(Self {
            names: Names::new(address, &section.allowed_hosts, &section.allowed_origins),
            access,
            shares: Shares::new(limits),
            has_page: section.page.unwrap_or_else(|| address.ip().is_loopback()),
            max_sessions: limits.sessions.get(),
            max_body_bytes: limits.body_bytes.get(),
            body_patience: Duration::from_secs(limits.body_seconds.get().into()),
        })
    }
}

impl Shared {
    /// Returns the rules of another version of the app for each listener.
    pub(crate) fn rules_of(&self, app: &App) -> Result<Vec<NewRules>, Error> {
        let doors = self.doors.lock().unwrap_or_else(PoisonError::into_inner);
        let open = doors.iter().filter_map(std::sync::Weak::upgrade);
        open.map(|door| {
            let rules = Rules::new(self, app, door.address, Some(&door.rules()))?;
            Ok(NewRules { door, rules })
        })
        .collect()
    }
}

impl NewRules {
    pub(crate) fn take_effect(self, version: Arc<Version>) {
        self.door.entry.send_replace(Entry { rules: Arc::new(self.rules), version });
    }
}
