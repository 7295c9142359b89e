//! What one agent of an app is shown, and the model that it thinks with.

use std::num::{NonZeroU32, NonZeroU64};
use std::sync::Arc;
use std::time::Duration;

use toolcrib_agent::{
    AgentSettings, Brain, ChatModel, FallbackModel, MAX_RECORDING_BYTES, OpenAiModel, OpenAiSettings, Prices,
    Provider, RecordedModel, RunLimits,
};
use toolcrib_io::files::read_bounded;
use toolcrib_io::http::{HttpClient, HttpPolicy};
use toolcrib_model::Secret;
use toolcrib_policy::{Principal, RUNTIME_NAMESPACE};
use toolcrib_prompt::{CallStyle, InjectionSettings, Plan, Profile, SystemPrompt, WireNames};

use crate::{AgentConfig, BrainConfig, Error, PricesConfig, Runtime, SchemaForm, variables};

/// The agent of an app that has none, such as one that is only served.
const DEFAULT_AGENT: &str = "assistant";

/// What one agent is shown.
pub struct AgentSetup {
    /// Its id.
    pub id: String,
    /// Which tools it is offered.
    pub plan: Plan,
    /// The names of all tools that it may use.
    pub wire_names: WireNames,
    /// How it calls tools.
    pub style: CallStyle,
    /// Its system prompt.
    pub system_prompt: String,
    /// What the loop needs.
    pub settings: AgentSettings,
    config: Option<(usize, AgentConfig)>,
}

/// The model that an agent thinks with.
pub struct ChosenModel {
    /// The model.
    pub model: Arc<dyn ChatModel>,
    /// Why it is a recording, when that was not asked for.
    pub notice: Option<String>,
}

impl Runtime {
    /// What an agent is shown with the tools as they are now; the first agent when none is named.
    pub fn agent(&self, id: Option<&str>) -> Result<AgentSetup, Error> {
        self.agent_in(id, "")
    }

    /// The same for one session, as far as rules speak of sessions.
    pub fn agent_in(&self, id: Option<&str>, session: &str) -> Result<AgentSetup, Error> {
        let agents = &self.app().config.agents;
        let config = match id {
            None => agents.iter().enumerate().next(),
            Some(id) => {
                Some(agents.iter().enumerate().find(|(_, agent)| agent.id == id).ok_or_else(|| {
                    let known = agents.iter().map(|agent| agent.id.clone()).collect();
                    Error::UnknownAgent { id: id.to_owned(), known }
                })?)
            }
        };
        let agent = config.map(|(_, agent)| agent);
        let snapshot = self.snapshot();
        let policy = self.executor().policy();
        let tools = || snapshot.iter().map(|entry| entry.tool.as_ref());
        let (agent_id, role) = agent.map_or((DEFAULT_AGENT, DEFAULT_AGENT), |agent| (&agent.id, &agent.role));
        let principal = Principal::new(session).with_agent(agent_id);
        let visible = || tools().filter(|tool| policy.is_visible(tool, principal));
        let reserved: Vec<&str> = tools()
            .filter(|tool| tool.name.namespace() == RUNTIME_NAMESPACE)
            .map(|tool| tool.name.name())
            .collect();
        let wire_names = WireNames::new(visible(), RUNTIME_NAMESPACE, &reserved);
        let start = |error: toolcrib_prompt::Error| Error::Start {
            what: "the plan".into(),
            message: error.to_string(),
        };
        // What is said of the others is said by the policy of this agent and session.
        let introduced = visible().find_map(|tool| self.discovery().introduced(tool, principal));
        let offered = visible().map(|tool| match &introduced {
            Some(own) if own.name == tool.name => own,
            _ => tool,
        });
        let mut plan = Plan::new(offered, &self.injection(agent), &wire_names).map_err(start)?;
        let style = agent.map_or(CallStyle::Native, call_style);
        // Schemas in the prompt pass no API that could refuse them.
        if let Some(profile) = agent.filter(|_| style == CallStyle::Native).and_then(profile) {
            plan = plan.with_profile(profile);
        }
        let system_prompt = SystemPrompt::new(&plan, style)
            .with_agent(agent_id, role)
            .with_user_prompt(agent.map_or("", |agent| &agent.system_prompt))
            .render();
        let model = agent.map_or("", |agent| &agent.brain.model);
        let settings = AgentSettings::new(agent_id, model, &plan, wire_names.clone())
            .with_system_prompt(system_prompt.clone())
            .with_style(style)
            .with_returned_reasoning(agent.is_some_and(|agent| agent.brain.provider.wants_reasoning_back()))
            .with_limits(self.run_limits());
        let config = config.map(|(position, agent)| (position, agent.clone()));
        Ok(AgentSetup { id: agent_id.to_owned(), plan, wire_names, style, system_prompt, settings, config })
    }

    fn injection(&self, agent: Option<&AgentConfig>) -> InjectionSettings {
        let runtime = &self.app().config.runtime;
        let default = InjectionSettings::default();
        InjectionSettings {
            mode: runtime.tool_injection,
            context_window: agent
                .and_then(|agent| agent.brain.context_window)
                .map_or(default.context_window, NonZeroU32::get),
            tool_budget: runtime.tool_budget.unwrap_or(default.tool_budget),
            tokens_per_tool: runtime.tokens_per_tool.map_or(default.tokens_per_tool, NonZeroU32::get),
        }
    }

    fn run_limits(&self) -> RunLimits {
        let runtime = &self.app().config.runtime;
        let mut limits = RunLimits::default();
        limits.max_turns = runtime.max_turns.map_or(limits.max_turns, NonZeroU32::get);
        limits.max_calls = runtime.max_calls.map_or(limits.max_calls, NonZeroU32::get);
        limits.max_failures = runtime.max_failures.map_or(limits.max_failures, NonZeroU32::get);
        limits.max_tokens = runtime.max_tokens.map_or(limits.max_tokens, NonZeroU64::get);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 1e15")]
        let cost = runtime.max_cost.map(|cost| (cost * 1e6) as u64);
        limits.max_cost = cost.unwrap_or(limits.max_cost);
        limits.max_duration = runtime
            .max_seconds
            .map_or(limits.max_duration, |seconds| Duration::from_secs(seconds.get().into()));
        limits
    }

    /// The model that an agent thinks with. Where its provider wants a key and none is set, the agent's recording.
    pub fn model(&self, agent: &AgentSetup) -> Result<ChosenModel, Error> {
        let Some((position, config)) = &agent.config else {
            return Err(Error::UnknownAgent { id: agent.id.clone(), known: Vec::new() });
        };
        let brain = &config.brain;
        let chosen = self.model_of(brain, &format!("/agents/{position}/brain"), agent.style)?;
        // A recording is what was asked for, or stands for all of them.
        if brain.fallback.is_empty() || chosen.notice.is_some() || brain.provider == Provider::Recorded {
            return Ok(chosen);
        }
        let mut others = Vec::with_capacity(brain.fallback.len());
        for (number, other) in brain.fallback.iter().enumerate() {
            let place = format!("/agents/{position}/brain/fallback/{number}");
            let model = self.model_of(other, &place, agent.style)?.model;
            others.push(Brain { name: other.model.clone(), model });
        }
        let first = Brain { name: brain.model.clone(), model: chosen.model };
        Ok(ChosenModel { model: Arc::new(FallbackModel::new(first, others)), notice: None })
    }

    fn model_of(&self, brain: &BrainConfig, place: &str, style: CallStyle) -> Result<ChosenModel, Error> {
        let filled = |key: &str, text: &Option<String>| {
            let text = text
                .as_deref()
                .map(|text| variables::expanded(self.app(), text, &format!("{place}/{key}"), false));
            text.transpose()
                .map(|text| text.filter(|text| !text.is_empty()))
                .map_err(|error| self.app().wrong(error))
        };
        let key_variable = brain.provider.key_variable();
        let own_key = key_variable.and_then(|name| std::env::var(name).ok()).filter(|key| !key.is_empty());
        let recording = brain.recording.as_deref();
        let notice = match (brain.provider, recording, key_variable) {
            (Provider::Recorded, None, _) => {
                let message = "`provider: recorded` needs a `recording`, a file of turns, or `--replay FILE`";
                return Err(self.app().error_at(place, message));
            }
            (Provider::Recorded, ..) => Some(None),
            (_, Some(path), Some(variable)) if own_key.is_none() && brain.api_key.is_none() => {
                Some(Some(format!("{variable} is not set: the model's turns are played from {path}")))
            }
            _ => None,
        };
        if let (Some(notice), Some(path)) = (notice, recording) {
            let path = variables::expanded(self.app(), path, &format!("{place}/recording"), true)
                .map_err(|error| self.app().wrong(error))?;
            let model = recorded(&self.app().folder.join(path), style)?;
            return Ok(ChosenModel { model, notice });
        }
        let mut settings = OpenAiSettings::new(brain.provider).with_stream(brain.stream.unwrap_or(true));
        if let Some(base_url) = filled("base_url", &brain.base_url)? {
            settings = settings.with_base_url(base_url);
        }
        if let Some(key) = filled("api_key", &brain.api_key)?.or(own_key) {
            let key = Secret::new(key);
            self.app().secrets().add(key_variable.unwrap_or("api_key"), key.clone());
            settings = settings.with_api_key(key);
        }
        if let Some(PricesConfig { input, cached_input, output }) = brain.prices {
            settings = settings.with_prices(Prices { input, cached_input, output });
        }
        // The operator wrote the address of the model's server, so any address is allowed.
        let http = HttpClient::new(HttpPolicy { allow_private: true, ..HttpPolicy::default() })
            .map_err(|error| Error::Start { what: "the HTTP client".into(), message: error.to_string() })?;
        Ok(ChosenModel { model: Arc::new(OpenAiModel::new(settings, &http)?), notice: None })
    }
}

impl AgentSetup {
    /// A model that plays the turns of a file.
    pub fn replay(&self, path: &std::path::Path) -> Result<ChosenModel, Error> {
        Ok(ChosenModel { model: recorded(path, self.style)?, notice: None })
    }
}

fn recorded(path: &std::path::Path, style: CallStyle) -> Result<Arc<dyn ChatModel>, Error> {
    let bytes = read_bounded(path, MAX_RECORDING_BYTES as u64)
        .map_err(|source| Error::Recording { path: path.to_owned(), source })?;
    Ok(Arc::new(RecordedModel::new(path.display().to_string(), &bytes, style)?))
}

fn profile(agent: &AgentConfig) -> Option<Profile> {
    match agent.brain.schemas {
        None => Some(agent.brain.provider.profile()),
        Some(SchemaForm::OpenAi) => Some(Profile::OpenAi),
        Some(SchemaForm::Anthropic) => Some(Profile::Anthropic),
        Some(SchemaForm::Gemini) => Some(Profile::Gemini),
        Some(SchemaForm::Portable) => Some(Profile::Portable),
        Some(SchemaForm::Original) => None,
    }
}

fn call_style(agent: &AgentConfig) -> CallStyle {
    match agent.brain.native_tool_use {
        Some(true) => CallStyle::Native,
        Some(false) => CallStyle::Text,
        None => agent.brain.provider.call_style(),
    }
}
