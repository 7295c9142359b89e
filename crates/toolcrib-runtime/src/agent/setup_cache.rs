//! The setups of agents that were made last.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use toolcrib_app::AgentSetup;

/// The number of cached setups. A setup is valid until the tools change, for each agent and session.
const MAX_KEPT: usize = 64;

/// The setups that were made last.
#[derive(Default)]
pub(crate) struct Setups {
    kept: Mutex<VecDeque<Arc<AgentSetup>>>,
}

impl Setups {
    pub(crate) fn get(&self, agent: &str, session: &str, generation: u64) -> Option<Arc<AgentSetup>> {
        let kept = self.kept.lock();
        let is_meant = |setup: &&Arc<AgentSetup>| {
            setup.generation == generation && setup.id == agent && setup.session == session
        };
        kept.iter().find(is_meant).cloned()
    }

    /// Forgets all of them, so that they are made again.
    pub(crate) fn forget(&self) {
        self.kept.lock().clear();
    }

    pub(crate) fn keep(&self, setup: Arc<AgentSetup>) {
        let mut kept = self.kept.lock();
        let is_older = |other: &AgentSetup| other.id == setup.id && other.session == setup.session;
        kept.retain(|other| other.generation == setup.generation && !is_older(other));
        kept.truncate(MAX_KEPT - 1);
        kept.push_front(setup);
    }
}
