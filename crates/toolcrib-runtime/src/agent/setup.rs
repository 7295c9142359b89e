//! The setup of one agent of an app: its tools, its prompt and its model.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use toolcrib_agent::{
    AgentSettings, Brain, ChatModel, DEFAULT_COMPACT_AT, FallbackModel, MAX_RECORDING_BYTES, OpenAiModel,
    OpenAiSettings, Prices, Provider, RecordedModel, RecoveringModel, TextModel,
};
use toolcrib_app::expanded;
use toolcrib_app::sections::agents::{AgentConfig, BrainConfig, PricesConfig};
use toolcrib_app::sections::runtime::run_limits;
use toolcrib_io::files::read_bounded;
use toolcrib_io::http::{HttpClient, HttpPolicy};
use toolcrib_model::Secret;
use toolcrib_modules::memory;
use toolcrib_policy::Principal;
use toolcrib_prompt::{
    CallStyle, Injection, MAX_USER_PROMPT_CHARS, Plan, RenderedPrompt, Role, SystemPrompt, ToolNames,
    WireNames,
};

use crate::Error;
use crate::services::AppServices;

/// The agent of an app that has none, such as one that is only served.
const DEFAULT_AGENT: &str = "assistant";

/// The number of cached setups. A setup is valid until the tools change, for each agent and session.
const MAX_KEPT: usize = 64;

/// The setup of one agent: the context that it works in.
pub struct AgentSetup {
    /// Its id.
    pub id: String,
    /// The session that it was made for, if rules mention sessions.
    pub session: String,
    /// The generation of the tools that it was decided for.
    pub generation: u64,
    /// The plan of the tools that it is offered.
    pub plan: Plan,
    /// The names of all tools that it may use.
    pub wire_names: WireNames,
    /// Its call style.
    pub style: CallStyle,
    /// Its system prompt.
    pub system_prompt: RenderedPrompt,
    /// The settings of the agent loop.
    pub settings: AgentSettings,
    /// The system prompt for those of its models that write their calls as text.
    text_prompt: Option<String>,
    /// The memory of the agent at the time of the setup.
    remembered: Option<String>,
    config: Option<(usize, AgentConfig)>,
}

/// The setups that were made last.
#[derive(Default)]
pub(crate) struct Setups {
    kept: Mutex<VecDeque<Arc<AgentSetup>>>,
}

impl Setups {
    fn get(&self, agent: &str, session: &str, generation: u64) -> Option<Arc<AgentSetup>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let is_meant = |setup: &&Arc<AgentSetup>| {
            setup.generation == generation && setup.id == agent && setup.session == session
        };
        kept.iter().find(is_meant).cloned()
    }

    /// Forgets all of them, so that they are made again.
    pub(crate) fn forget(&self) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn keep(&self, setup: Arc<AgentSetup>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let is_older = |other: &AgentSetup| other.id == setup.id && other.session == setup.session;
        kept.retain(|other| other.generation == setup.generation && !is_older(other));
        kept.truncate(MAX_KEPT - 1);
        kept.push_front(setup);
    }
}

/// The model that an agent thinks with.
pub struct ChosenModel {
    /// The model.
    pub model: Arc<dyn ChatModel>,
    /// The reason why a recording is used that was not requested.
    pub notice: Option<String>,
}

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

    /// See [`Runtime::model`](crate::Runtime::model).
    pub(crate) fn model(&self, agent: &AgentSetup) -> Result<ChosenModel, Error> {
        let Some((position, config)) = &agent.config else {
            return Err(Error::UnknownAgent { id: agent.id.clone(), known: Vec::new() });
        };
        let brain = &config.brain;
        let chosen = self.model_of(brain, &format!("/agents/{position}/brain"), agent)?;
        // A recording replaces the fallbacks too.
        if brain.fallback.is_empty() || chosen.notice.is_some() || brain.provider == Provider::Recorded {
            return Ok(chosen);
        }
        let mut others = Vec::with_capacity(brain.fallback.len());
        for (number, other) in brain.fallback.iter().enumerate() {
            let place = format!("/agents/{position}/brain/fallback/{number}");
            let model = self.model_of(other, &place, agent)?.model;
            others.push(Brain { name: other.model.clone(), model });
        }
        let first = Brain { name: brain.model.clone(), model: chosen.model };
        Ok(ChosenModel { model: Arc::new(FallbackModel::new(first, others)), notice: None })
    }

    fn model_of(&self, brain: &BrainConfig, place: &str, agent: &AgentSetup) -> Result<ChosenModel, Error> {
        let key_variable = brain.provider.key_variable();
        let own_key = key_variable.and_then(|name| std::env::var(name).ok()).filter(|key| !key.is_empty());
        let recording = brain.recording.as_deref();
        let notice = match (brain.provider, recording, key_variable) {
            (Provider::Recorded, None, _) => {
                let message = "`provider: recorded` needs a `recording`, a file of turns, or `--replay FILE`";
                return Err(self.app.file.wrong(self.app.file.error_at(place, message)).into());
            }
            (Provider::Recorded, ..) => Some(None),
            (_, Some(path), Some(variable)) if own_key.is_none() && brain.api_key.is_none() => {
                Some(Some(format!("{variable} is not set: the model's turns are played from {path}")))
            }
            _ => None,
        };
        if let (Some(notice), Some(path)) = (notice, recording) {
            let path = expanded(&self.app.file, path, &format!("{place}/recording"), true)
                .map_err(|error| self.app.file.wrong(error))?;
            let model = agent.recorded(&self.app.file.folder.join(path), brain.call_style())?;
            return Ok(ChosenModel { model, notice });
        }
        let model = self.open_ai(brain, place, own_key)?;
        let model = agent.in_style(brain.call_style(), Arc::new(model));
        Ok(ChosenModel { model, notice: None })
    }

    /// Opens the model of a brain, unless a recording replaces it.
    pub(crate) fn open_ai(
        &self,
        brain: &BrainConfig,
        place: &str,
        own_key: Option<String>,
    ) -> Result<OpenAiModel, Error> {
        let filled = |key: &str, text: &Option<String>| self.filled(place, key, text.as_deref());
        let key_variable = brain.provider.key_variable();
        let mut settings = OpenAiSettings::new(brain.provider)
            .with_stream(brain.stream.unwrap_or(true))
            .with_parameters(brain.parameters());
        let mut shares_key = true;
        if let Some(base_url) = filled("base_url", &brain.base_url)? {
            shares_key = brain.provider.shares_key_with(&base_url);
            settings = settings.with_base_url(base_url);
        }
        let own_key = own_key.map(Secret::new);
        if let Some(key) = &own_key {
            self.app.secrets().add(key_variable.unwrap_or("api_key"), key.clone());
        }
        if let Some(key) = filled("api_key", &brain.api_key)? {
            let key = Secret::new(key);
            self.app.secrets().add(key_variable.unwrap_or("api_key"), key.clone());
            settings = settings.with_api_key(key);
        } else if let Some(key) = own_key.filter(|_| shares_key) {
            // Any other server gets the provider's key only where the app file says so.
            settings = settings.with_api_key(key);
        }
        if let Some(seconds) = brain.timeout_seconds {
            settings = settings.with_timeout(Duration::from_secs(seconds.get().into()));
        }
        if let Some(PricesConfig { input, cached_input, output }) = brain.prices {
            settings = settings.with_prices(Prices { input, cached_input, output });
        }
        // The operator wrote the address of the model's server, so any address is allowed.
        let http = HttpClient::new(HttpPolicy { allow_private: true, ..HttpPolicy::default() })
            .map_err(|error| Error::Start { what: "the HTTP client".into(), message: error.to_string() })?;
        Ok(OpenAiModel::new(settings, &http)?)
    }

    /// Returns the text of a key, with the variables in it; `None` where it is absent or empty.
    fn filled(&self, place: &str, key: &str, text: Option<&str>) -> Result<Option<String>, Error> {
        let Some(text) = text else { return Ok(None) };
        let filled = expanded(&self.app.file, text, &format!("{place}/{key}"), false)
            .map_err(|error| self.app.file.wrong(error))?;
        Ok(Some(filled).filter(|text| !text.is_empty()))
    }
}

impl AgentSetup {
    /// Returns the injection mode that was decided for the tools of its generation.
    pub fn tool_injection(&self) -> Injection {
        self.plan.mode
    }

    /// Returns warnings about the setup for the operator.
    pub fn warnings(&self) -> Vec<String> {
        let window = self.plan.context_window;
        let is_cut = self.system_prompt.user_prompt_is_cut.then(|| {
            format!(
                "the end of `system_prompt` of the agent `{}` is cut off: it may take half of the {window} tokens of \
                 `brain.context_window`, and {MAX_USER_PROMPT_CHARS} characters",
                self.id
            )
        });
        let budget = u64::from(self.plan.budget_tokens);
        let offered = self.plan.offered.iter().filter(|tool| tool.role == Role::Operational);
        let always: u64 =
            offered.map(|tool| u64::from(tool.tokens(self.plan.style, self.plan.tokenizer))).sum();
        let is_over = self.plan.mode != Injection::Direct && always > budget;
        let over = is_over.then(|| {
            format!(
                "the tools that the agent `{}` is always offered take {always} tokens, and all tools together may take \
                 {budget}; switch off what it does not need under `execution` and `modules`, or raise \
                 `runtime.tool_budget` or `brain.context_window`",
                self.id
            )
        });
        is_cut.into_iter().chain(over).collect()
    }

    /// Returns a model that plays the turns of a file.
    pub fn replay(&self, path: &std::path::Path) -> Result<ChosenModel, Error> {
        Ok(ChosenModel { model: self.recorded(path, CallStyle::Native)?, notice: None })
    }

    /// Returns a model for the loop, in any call style.
    fn in_style(&self, style: CallStyle, model: Arc<dyn ChatModel>) -> Arc<dyn ChatModel> {
        let names = ToolNames::from(&self.wire_names);
        match style {
            CallStyle::Native => Arc::new(RecoveringModel::new(model, names)),
            CallStyle::Text => {
                let model = TextModel::new(model, names);
                Arc::new(model.with_system_prompt(self.text_prompt.as_deref().unwrap_or_default()))
            }
        }
    }

    fn recorded(&self, path: &std::path::Path, style: CallStyle) -> Result<Arc<dyn ChatModel>, Error> {
        let bytes = read_bounded(path, MAX_RECORDING_BYTES as u64)
            .map_err(|source| Error::Recording { path: path.to_owned(), source })?;
        let model = RecordedModel::new(path.display().to_string(), &bytes, style)?;
        Ok(self.in_style(style, Arc::new(model)))
    }
}
