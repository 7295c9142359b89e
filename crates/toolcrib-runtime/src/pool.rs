//! The agents that a coordinator can start.

use std::sync::{Arc, OnceLock, Weak};

use toolcrib_agent::{Agent, AgentFactory, AgentPool, SpawnedAgent};
use toolcrib_model::QualifiedName;
use toolcrib_policy::{Policy, Principal, RUNTIME_NAMESPACE};
use toolcrib_port::CallContext;
use toolcrib_registry::Entry;

use crate::wiring::{Wiring, is_own};
use crate::{AgentConfig, AppConfig, Error};

/// The role of agents that start others.
pub(crate) const COORDINATOR: &str = "coordinator";

/// The role of all others.
pub(crate) const ASSISTANT: &str = "assistant";

/// Makes the agents of an app file, once it runs.
#[derive(Default)]
pub(crate) struct Office {
    ids: Vec<String>,
    wiring: OnceLock<Weak<Wiring>>,
}

/// A pool for the coordinators of an app; none where there are none, or where there is nobody whom they could start.
pub(crate) fn pool(config: &AppConfig) -> Option<(Arc<Office>, AgentPool)> {
    let has_coordinator = config.agents.iter().any(AgentConfig::is_coordinator);
    if !has_coordinator || config.agents.len() < 2 {
        return None;
    }
    let ids = config.agents.iter().map(|agent| agent.id.clone()).collect();
    let office = Arc::new(Office { ids, wiring: OnceLock::new() });
    let pool = AgentPool::new(Arc::clone(&office) as Arc<dyn AgentFactory>);
    Some((office, pool))
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

impl Office {
    /// Says what runs now.
    pub(crate) fn open(&self, wiring: &Arc<Wiring>) {
        // It is said once, at start.
        let _ = self.wiring.set(Arc::downgrade(wiring));
    }
}

impl AgentFactory for Office {
    fn ids(&self) -> Vec<String> {
        self.ids.clone()
    }

    fn make(&self, id: &str, context: &CallContext) -> Result<SpawnedAgent, String> {
        let wiring = self.wiring.get().and_then(Weak::upgrade).ok_or("the app is closing")?;
        let config = wiring.app.config.agents.iter().enumerate().find(|(_, agent)| agent.id == id);
        wiring.spawned(config, context).map_err(|error| error.to_string())
    }
}

impl Wiring {
    /// An agent that makes its calls in this context, with its model.
    pub(crate) fn spawned(
        &self,
        config: Option<(usize, &AgentConfig)>,
        context: &CallContext,
    ) -> Result<SpawnedAgent, Error> {
        let setup = self.set_up(config, context.principal())?;
        let model = self.model(&setup)?.model;
        Ok(SpawnedAgent { agent: Agent::new(setup.settings), model })
    }

    /// The agents that this one can start, with what they are good for.
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

impl AgentConfig {
    /// Whether it can start others.
    pub(crate) fn is_coordinator(&self) -> bool {
        self.role == COORDINATOR
    }

    /// What it is good for: its description, else the first line of its own prompt.
    fn good_for(&self) -> &str {
        let first_line = || self.system_prompt.lines().map(str::trim).find(|line| !line.is_empty());
        self.description.as_deref().or_else(first_line).unwrap_or_default()
    }
}
