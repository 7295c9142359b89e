//! The setup of agents: what each is shown.

use std::sync::Arc;

use toolcrib_agent::{AgentSettings, DEFAULT_COMPACT_AT};
use toolcrib_app::sections::agents::AgentConfig;
use toolcrib_app::sections::runtime::run_limits;
use toolcrib_modules::memory;
use toolcrib_policy::Principal;
use toolcrib_prompt::{CallStyle, Plan, SystemPrompt};

use crate::Error;
use crate::agent::agent_setup::AgentSetup;
use crate::services::AppServices;

/// The agent of an app that has none, such as one that is only served.
const DEFAULT_AGENT: &str = "assistant";

impl AppServices {
    /// See [`Runtime::agent_in`](crate::Runtime::agent_in).
    pub(crate) fn agent_in(&self, id: Option<&str>, session: &str) -> Result<Arc<AgentSetup>, Error> {
        let agents = &self.app.config.agents;
        let config = match id {
            None => agents.iter().enumerate().next(),
            Some(id) => {
                Some(agents.iter().enumerate().find(|(_, agent)| agent.id == id).ok_or_else(|| {
                    let known = agents.iter().map(|agent| agent.id.clone()).collect();
                    Error::UnknownAgent { id: id.to_owned(), known }
                })?)
            }
        };
        let agent_id = config.map_or(DEFAULT_AGENT, |(_, agent)| &agent.id);
        let snapshot = self.snapshot();
        let principal = Principal::new(session).with_agent(agent_id);
        if let Some(kept) = self.setups.get(agent_id, session, snapshot.generation()) {
            let policy = self.executor.policy();
            let visible = snapshot.iter().filter(|entry| policy.is_visible(&entry.tool, principal));
            // The agent reads what it remembers now, at the cost of what its server has cached of the prompt.
            if kept.remembered == self.remembered(principal, visible.map(AsRef::as_ref)) {
                return Ok(kept);
            }
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
        let agent = config.map(|(_, agent)| agent);
        let snapshot = self.snapshot();
        let policy = self.executor.policy();
        let session = principal.session;
        let (agent_id, role) = agent.map_or((DEFAULT_AGENT, DEFAULT_AGENT), |agent| (&agent.id, &agent.role));
        let entries = || snapshot.iter().filter(|entry| policy.is_visible(&entry.tool, principal));
        let wire_names = self.wire_names(&snapshot, principal, false);
        let start = |error: toolcrib_prompt::Error| Error::Start {
            what: "the plan".into(),
            message: error.to_string(),
        };
        let offered = self.visible(&snapshot, principal);
        let injection = self.injection(agent, &snapshot, principal);
        let style = injection.style;
        let plan = Plan::new(offered, &injection, &wire_names).map_err(start)?;
        let tool_choice = self
            .tool_choice(agent, &snapshot, principal, &wire_names)
            .map_err(|message| Error::Start { what: "the plan".into(), message })?;
        let remembered = self.remembered(principal, entries().map(AsRef::as_ref));
        let notes = remembered.as_deref().unwrap_or_default();
        let instructions = match &remembered {
            Some(notes) => memory::instructions(notes),
            None => String::new(),
        };
        let prompt = SystemPrompt::new(&plan)
            .with_memory(notes)
            .with_memory_instructions(&instructions)
            .with_agent(agent_id, role)
            .with_agents(self.others(principal, entries().map(AsRef::as_ref)))
            .with_skills(self.told_skills(principal, entries().map(AsRef::as_ref)))
            .with_channels(self.told_channels(principal, entries().map(AsRef::as_ref)))
            .with_source_notes(self.source_notes(entries().map(AsRef::as_ref)))
            .with_user_prompt(agent.map_or("", |agent| &agent.system_prompt));
        let system_prompt = prompt.render();
        let is_used =
            |style| agent.is_some_and(|agent| agent.brains().any(|brain| brain.call_style() == style));
        let in_style = |style| prompt.clone().with_style(style).render().text;
        let text_prompt = is_used(CallStyle::Text).then(|| in_style(CallStyle::Text));
        let native_prompt = is_used(CallStyle::Native).then(|| in_style(CallStyle::Native));
        let model = agent.map_or("", |agent| &agent.brain.model);
        let settings = AgentSettings::new(agent_id, model, &plan, wire_names.clone())
            .with_system_prompt(native_prompt.unwrap_or_else(|| system_prompt.text.clone()))
            .with_context_window(plan.context_window)
            .with_compact_at(self.app.config.runtime.compact_at.unwrap_or(DEFAULT_COMPACT_AT))
            .with_pictures(agent.is_some_and(|agent| agent.brain.images))
            .with_tool_choice(tool_choice)
            .with_returned_reasoning(agent.is_some_and(|agent| agent.brain.provider.wants_reasoning_back()))
            .with_limits(run_limits(&self.app.config.runtime));
        let config = config.map(|(position, agent)| (position, agent.clone()));
        Ok(AgentSetup {
            id: agent_id.to_owned(),
            session: session.to_owned(),
            generation: snapshot.generation(),
            plan,
            wire_names,
            style,
            system_prompt,
            settings,
            text_prompt,
            remembered,
            config,
        })
    }
}
