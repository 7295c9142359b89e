//! The setups of agents with the current tools.

use std::sync::Arc;

use toolcrib_app::sections::agents::{AgentConfig, DEFAULT_AGENT};
use toolcrib_app::{AgentSetup, ChosenModel, PromptTexts};
use toolcrib_policy::Principal;

use crate::Error;
use crate::services::AppServices;

impl AppServices {
    /// See [`Runtime::agent_in`](crate::Runtime::agent_in).
    pub(crate) fn agent_in(&self, id: Option<&str>, session: &str) -> Result<Arc<AgentSetup>, Error> {
        let agents = &self.app.config.agents;
        let mut numbered = agents.iter().enumerate();
        let config = match id {
            None => numbered.next(),
            Some(id) => Some(numbered.find(|(_, agent)| agent.id == id).ok_or_else(|| {
                let known = agents.iter().map(|agent| agent.id.clone()).collect();
                Error::UnknownAgent { id: id.to_owned(), known }
            })?),
        };
        let agent_id = config.map_or(DEFAULT_AGENT, |(_, agent)| &agent.id);
        let principal = Principal::new(session).with_agent(agent_id);
        let view = self.view(principal);
        if let Some(kept) = self.setups.get(agent_id, session, view.snapshot.generation())
            // The agent reads what it remembers now, at the cost of what its server has cached of the prompt.
            && kept.remembered == self.remembered(&view)
        {
            return Ok(kept);
        }
        let setup = Arc::new(self.set_up(config, principal)?);
        self.setups.keep(Arc::clone(&setup));
        Ok(setup)
    }

    /// Returns the setup of an agent that makes its calls as this principal.
    pub(crate) fn set_up(
        &self,
        config: Option<(usize, &AgentConfig)>,
        principal: Principal<'_>,
    ) -> Result<AgentSetup, Error> {
        let view = self.view(principal);
        let texts = PromptTexts {
            remembered: self.remembered(&view),
            agents: self.others(&view),
            skills: self.told_skills(&view),
            channels: self.told_channels(&view),
            sources: self.usage_notes(&view),
        };
        Ok(AgentSetup::new(&self.app, config, &self.profiles, &view, texts)?)
    }

    /// See [`Runtime::model`](crate::Runtime::model).
    pub(crate) fn model(&self, agent: &AgentSetup) -> Result<ChosenModel, Error> {
        let unknown = || Error::UnknownAgent { id: agent.id.clone(), known: Vec::new() };
        self.app.model(agent)?.ok_or_else(unknown)
    }
}
