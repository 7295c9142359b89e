//! The agents that a coordinator can start.

use std::sync::{Arc, OnceLock, Weak};

use toolcrib_agent::{Agent, AgentFactory, AgentPool, SpawnedAgent};
use toolcrib_app::AppConfig;
use toolcrib_app::sections::agents::AgentConfig;
use toolcrib_model::QualifiedName;
use toolcrib_policy::{Policy, Principal, RUNTIME_NAMESPACE};
use toolcrib_port::CallContext;
use toolcrib_registry::Entry;

use crate::Error;
use crate::services::{AppServices, is_own};

/// Makes the agents of an app file, once it runs.
#[derive(Default)]
pub(crate) struct AppAgentFactory {
    ids: Vec<String>,
    services: OnceLock<Weak<AppServices>>,
}

/// Returns a pool for the coordinators of an app; `None` if there is no coordinator, or no agent to start.
pub(crate) fn pool(config: &AppConfig) -> Option<(Arc<AppAgentFactory>, AgentPool)> {
    let has_coordinator = config.agents.iter().any(AgentConfig::is_coordinator);
    if !has_coordinator || config.agents.len() < 2 {
        return None;
    }
    let ids = config.agents.iter().map(|agent| agent.id.clone()).collect();
    let factory = Arc::new(AppAgentFactory { ids, services: OnceLock::new() });
    let pool = AgentPool::new(Arc::clone(&factory) as Arc<dyn AgentFactory>);
    Some((factory, pool))
}

/// Leaves the tools of a pool to the coordinators.
pub(crate) fn reserved(mut policy: Policy, config: &AppConfig, pool: &AgentPool) -> Result<Policy, Error> {
    let coordinators =
        || config.agents.iter().filter(|agent| agent.is_coordinator()).map(|agent| agent.id.clone());
    for tool in pool.tools() {
        let name = QualifiedName::new(RUNTIME_NAMESPACE, tool.name()).map_err(|error| Error::Start {
            what: "the tools of coordinators".into(),
            message: error.to_string(),
        })?;
        policy = policy.with_reserved(name, coordinators(), "agents[].role");
    }
    Ok(policy)
}

impl AppAgentFactory {
    /// Says what runs now.
    pub(crate) fn open(&self, services: &Arc<AppServices>) {
        // It is said once, at start.
        let _ = self.services.set(Arc::downgrade(services));
    }
}

impl AgentFactory for AppAgentFactory {
    fn ids(&self) -> Vec<String> {
        self.ids.clone()
    }

    fn make(&self, id: &str, context: &CallContext) -> Result<SpawnedAgent, String> {
        let services = self.services.get().and_then(Weak::upgrade).ok_or("the app is closing")?;
        let config = services.app.config.agents.iter().enumerate().find(|(_, agent)| agent.id == id);
        services.spawned(config, context).map_err(|error| error.to_string())
    }
}

impl AppServices {
    /// Returns an agent that makes its calls in this context, with its model.
    pub(crate) fn spawned(
        &self,
        config: Option<(usize, &AgentConfig)>,
        context: &CallContext,
    ) -> Result<SpawnedAgent, Error> {
        let setup = self.set_up(config, context.principal())?;
        let model = self.model(&setup)?.model;
        Ok(SpawnedAgent { agent: Agent::new(setup.settings), model })
    }

    /// Returns the agents that this one can start, with what they are good for.
    pub(crate) fn others<'a>(
        &self,
        principal: Principal<'_>,
        mut visible: impl Iterator<Item = &'a Entry>,
    ) -> Vec<(String, String)> {
        let may_start = visible.any(|entry| is_own(&entry.tool, &[AgentPool::SPAWN]));
        let others = self.app.config.agents.iter().filter(|agent| principal.agent != Some(&agent.id));
        others.filter(|_| may_start).map(|agent| (agent.id.clone(), agent.good_for().to_owned())).collect()
    }
}
