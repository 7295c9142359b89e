//! The setups of the agents of an app.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;

use super::caller_view::CallerView;
use super::server_profiles::ServerProfiles;
use super::setup::AgentSetup;
use crate::sections::agents::{AgentConfig, DEFAULT_AGENT};
use crate::{App, Error};

/// The number of cached setups. A setup is valid until the tools change, for each agent and session.
const MAX_KEPT: usize = 64;

/// The setups of the agents of an app, and what their models' servers said.
#[derive(Default)]
pub struct AgentSetups {
    profiles: ServerProfiles,
    /// The setups that were made last.
    kept: Mutex<VecDeque<Arc<AgentSetup>>>,
}

impl AgentSetups {
    /// Asks the servers of the agents' models for the context windows and the capabilities that the app file does not
    /// set. Done once; it waits 2 s at most. Until then, and without an answer, the defaults of the providers apply.
    pub async fn ask_server_profiles(&self, app: &App) {
        self.profiles.ask(app, || self.kept.lock().clear()).await;
    }

    /// Returns the setup of an agent with the tools of a view. It is decided once for each generation of the tools, so
    /// that requests share their prefix until the tools change.
    pub fn get(
        &self,
        config: Option<(usize, &AgentConfig)>,
        view: &CallerView<'_>,
    ) -> Result<Arc<AgentSetup>, Error> {
        let (id, session) = (config.map_or(DEFAULT_AGENT, |(_, agent)| &agent.id), view.principal.session);
        let overrides = view.policy.overrides();
        let is_current = |setup: &AgentSetup| {
            setup.generation == view.snapshot.generation() && Arc::ptr_eq(&setup.overrides, &overrides)
        };
        let is_same = |setup: &AgentSetup| setup.id == id && setup.session == session;
        let kept = self.kept.lock().iter().find(|setup| is_same(setup) && is_current(setup)).cloned();
        // The agent reads what it remembers now, at the cost of what its server has cached of the prompt.
        if let Some(kept) = kept.filter(|kept| kept.remembered == view.remembered()) {
            return Ok(kept);
        }
        let setup = Arc::new(self.make(config, view)?);
        let mut kept = self.kept.lock();
        kept.retain(|other| is_current(other) && !is_same(other));
        kept.truncate(MAX_KEPT - 1);
        kept.push_front(Arc::clone(&setup));
        Ok(setup)
    }

    /// Makes a setup of an agent, which is not kept.
    pub fn make(
        &self,
        config: Option<(usize, &AgentConfig)>,
        view: &CallerView<'_>,
    ) -> Result<AgentSetup, Error> {
        AgentSetup::new(config, &self.profiles, view)
    }
}
