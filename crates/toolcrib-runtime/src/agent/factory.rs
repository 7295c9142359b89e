//! The agents that a coordinator can start.

use std::sync::{Arc, Weak};

use toolcrib_agent::pool::{AgentFactory, SpawnedAgent};
use toolcrib_agent::{Agent, AgentPool};
use toolcrib_app::AppConfig;
use toolcrib_app::sections::agents::AgentConfig;
use toolcrib_model::QualifiedName;
use toolcrib_policy::{Policy, RUNTIME_NAMESPACE};
use toolcrib_port::CallContext;

use crate::Error;
use crate::services::AppServices;

/// Makes the agents of an app while it runs.
struct AppAgentFactory {
    ids: Vec<String>,
    services: Weak<AppServices>,
}

/// Returns a pool for the coordinators of an app; `None` if there is no coordinator, or no agent to start.
pub(crate) fn pool(services: &Arc<AppServices>) -> Option<AgentPool> {
    let config = &services.parts.app.config;
    if !has_pool(config) {
        return None;
    }
    let ids = config.agents.iter().map(|agent| agent.id.clone()).collect();
    Some(AgentPool::new(Arc::new(AppAgentFactory { ids, services: Arc::downgrade(services) })))
}

fn has_pool(config: &AppConfig) -> bool {
    config.agents.iter().any(AgentConfig::is_coordinator) && config.agents.len() > 1
}

/// Leaves the tools of a pool to the coordinators.
pub(crate) fn reserved(policy: Policy, config: &AppConfig) -> Result<Policy, Error> {
    if !has_pool(config) {
        return Ok(policy);
    }
    let coordinators =
        || config.agents.iter().filter(|agent| agent.is_coordinator()).map(|agent| agent.id.clone());
    AgentPool::TOOLS.into_iter().try_fold(policy, |policy, name| {
        let name = QualifiedName::new(RUNTIME_NAMESPACE, name).map_err(|error| Error::Start {
            what: "the tools of coordinators".into(),
            message: error.to_string(),
        })?;
        Ok(policy.with_reserved(name, coordinators(), "agents[].role"))
    })
}

impl AgentFactory for AppAgentFactory {
    fn ids(&self) -> Vec<String> {
        self.ids.clone()
    }

    fn make(&self, id: &str, context: &CallContext) -> Result<SpawnedAgent, String> {
        let services = self.services.upgrade().ok_or("the app is closing")?;
        let config = services.parts.app.config.agent(Some(id));
        let spawned = services.spawned(config, context).map_err(|error| error.to_string())?;
        // The schema is of the answers of the app, and not of those that its agents give each other.
        let settings = spawned.agent.settings().clone().with_output_schema(None);
        Ok(SpawnedAgent { agent: Agent::new(settings), ..spawned })
    }
}
