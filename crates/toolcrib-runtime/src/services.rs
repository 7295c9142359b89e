//! The shared services of a running app.

use std::sync::Arc;

use toolcrib_agent::Agent;
use toolcrib_agent::pool::SpawnedAgent;
use toolcrib_app::sections::agents::{AgentConfig, DEFAULT_AGENT};
use toolcrib_app::{AgentSetup, AgentSetups, AppParts, CallerView, ChosenModel, LaunchOptions};
use toolcrib_exec::Executor;
use toolcrib_meta::Discovery;
use toolcrib_policy::Principal;
use toolcrib_port::CallContext;

use crate::Error;

/// The shared services of a running app. Agents that are started by others use them too.
pub(crate) struct AppServices {
    pub(crate) parts: AppParts,
    pub(crate) options: LaunchOptions,
    pub(crate) executor: Arc<Executor>,
    pub(crate) discovery: Arc<Discovery>,
    pub(crate) setups: AgentSetups,
}

impl AppServices {
    /// Returns the tools that a caller may use now.
    pub(crate) fn view<'a>(&'a self, principal: Principal<'a>) -> CallerView<'a> {
        let (snapshot, policy) = (self.executor.registry().snapshot(), Arc::clone(self.executor.policy()));
        CallerView { parts: &self.parts, snapshot, policy, principal }
    }

    /// See [`Runtime::agent_in`](crate::Runtime::agent_in).
    pub(crate) fn agent_in(&self, id: Option<&str>, session: &str) -> Result<Arc<AgentSetup>, Error> {
        let config = &self.parts.app.config;
        let agent = config.agent(id);
        if let (Some(id), None) = (id, agent) {
            let known = config.agents.iter().map(|agent| agent.id.clone()).collect();
            return Err(Error::UnknownAgent { id: id.to_owned(), known });
        }
        let id = agent.map_or(DEFAULT_AGENT, |(_, agent)| &agent.id);
        Ok(self.setups.get(agent, &self.view(Principal::new(session).with_agent(id)))?)
    }

    /// See [`Runtime::model`](crate::Runtime::model).
    pub(crate) fn model(&self, agent: &AgentSetup) -> Result<ChosenModel, Error> {
        let unknown = || Error::UnknownAgent { id: agent.id.clone(), known: Vec::new() };
        self.parts.app.model(agent)?.ok_or_else(unknown)
    }

    /// Returns an agent that makes its calls in this context, with its model.
    pub(crate) fn spawned(
        &self,
        config: Option<(usize, &AgentConfig)>,
        context: &CallContext,
    ) -> Result<SpawnedAgent, Error> {
        let setup = self.setups.make(config, &self.view(context.principal()))?;
        let model = self.model(&setup)?.model;
        Ok(SpawnedAgent { agent: Agent::new(setup.settings), model })
    }
}
