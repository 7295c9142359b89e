//! The skills of an app, as its callers use them.

use std::sync::Arc;

use toolcrib_app::{AppConfig, CallerView};
use toolcrib_policy::Principal;
use toolcrib_registry::Snapshot;
use toolcrib_sdk::FunctionTool;
use toolcrib_tasks::Skills;
use toolcrib_tasks::skills::{Skill, USE_SKILL};

use crate::services::{AppServices, is_own};

/// The number of triggers of a skill in a prompt.
const MAX_TOLD_TRIGGERS: usize = 5;

/// Returns the tools that skills list and that are not there.
pub(crate) fn unused<'a>(skills: &'a Skills, snapshot: &'a Snapshot) -> impl Iterator<Item = String> + 'a {
    skills.iter().flat_map(move |skill| {
        // A name in another program's spelling is not a tool of Toolcrib.
        let ours = skill.allowed_tools.iter().filter(|tool| tool.contains('.') && !tool.contains(['*', '(']));
        ours.filter(|tool| snapshot.find(tool, |_| true).is_err())
            .map(|tool| format!("the skill `{}` lists `{tool}`, an unknown tool", skill.name))
    })
}

/// Returns the tool that loads skills, where there are any.
pub(crate) fn tools(skills: &Arc<Skills>, config: &AppConfig) -> Vec<FunctionTool> {
    if skills.is_empty() {
        return Vec::new();
    }
    let config = config.clone();
    skills.tools(move |context, skill| may_use(&config, context.principal(), skill))
}

/// Returns true if a caller may use a skill: an agent whose `capabilities` list skills may use only those, and only if
/// each agent on whose behalf it works may use them.
fn may_use(config: &AppConfig, principal: Principal<'_>, skill: &Skill) -> bool {
    let is_left = |id: &str| {
        let agent = config.agents.iter().find(|agent| agent.id == id);
        let left = agent.and_then(|agent| agent.capabilities.as_ref());
        left.is_none_or(|left| left.iter().any(|name| name.trim_start_matches('/') == skill.name))
    };
    let above = principal.on_behalf_of.iter().map(AsRef::as_ref);
    above.chain(principal.agent).all(is_left)
}

impl AppServices {
    /// Returns the skills that a caller may load, each with what it is good for.
    pub(crate) fn told_skills(&self, view: &CallerView<'_>) -> Vec<(String, String)> {
        self.usable_skills(view).map(|skill| (format!("/{}", skill.name), about(skill))).collect()
    }

    /// Returns the same for a client of the server, which has no slash before the names.
    pub(crate) fn skills(&self, session: &str) -> Vec<(String, String)> {
        let view = self.view(Principal::new(session));
        self.usable_skills(&view).map(|skill| (skill.name.clone(), about(skill))).collect()
    }

    fn usable_skills<'a>(&'a self, view: &CallerView<'a>) -> impl Iterator<Item = &'a Skill> + use<'a> {
        let (config, principal) = (&self.app.config, view.principal);
        let may_load = view.has(|tool| is_own(tool, &[USE_SKILL]));
        self.skills.iter().filter(move |skill| may_load && may_use(config, principal, skill))
    }
}

fn about(skill: &Skill) -> String {
    let triggers: Vec<&str> = skill.triggers.iter().take(MAX_TOLD_TRIGGERS).map(String::as_str).collect();
    if triggers.is_empty() {
        skill.description.clone()
    } else {
        format!("{} For: {}", skill.description, triggers.join(", "))
    }
}
