//! The setup of one agent of an app: its tools, its prompt and its settings.

use std::sync::Arc;

use serde_json::Value;
use toolcrib_agent::chat::{RecoveringModel, TextModel};
use toolcrib_agent::limits::DEFAULT_COMPACT_AT;
use toolcrib_agent::recorded::{MAX_RECORDING_BYTES, RecordedModel};
use toolcrib_agent::{AgentSettings, ChatModel};
use toolcrib_io::files::read_bounded;
use toolcrib_modules::memory;
use toolcrib_policy::Overrides;
use toolcrib_prompt::system_prompt::{CallStyle, MAX_USER_PROMPT_CHARS, RenderedPrompt};
use toolcrib_prompt::text_calls::ToolNames;
use toolcrib_prompt::{Injection, OfferedTool, Plan, Role, SystemPrompt, WireNames};

use super::caller_view::CallerView;
use super::server_profiles::ServerProfiles;
use super::{injection, scripts};
use crate::Error;
use crate::sections::agents::{AgentConfig, DEFAULT_AGENT};
use crate::sections::runtime::run_limits;

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
    pub(super) remembered: Option<String>,
    /// The overrides at that time.
    pub(super) overrides: Arc<Overrides>,
    pub(super) config: Option<(usize, AgentConfig)>,
}

/// The model that an agent thinks with.
pub struct ChosenModel {
    /// The model.
    pub model: Arc<dyn ChatModel>,
    /// The reason why a recording is used that was not requested.
    pub notice: Option<String>,
}

impl AgentSetup {
    /// Returns the setup of an agent of an app, with its place in the app file. Without one, it is the default agent.
    pub(super) fn new(
        config: Option<(usize, &AgentConfig)>,
        profiles: &ServerProfiles,
        view: &CallerView<'_>,
    ) -> Result<Self, Error> {
        let wrong = |error: String| Error::Part { part: "the plan".into(), message: error };
        let app = &view.parts.app;
        // Before the decision, so that overrides that change meanwhile make it outdated.
        let (overrides, remembered) = (view.policy.overrides(), view.remembered());
        let agent = config.map(|(_, agent)| profiles.completed(agent));
        let agent = agent.as_ref();
        let (id, role) = agent.map_or((DEFAULT_AGENT, DEFAULT_AGENT), |agent| (&agent.id, &agent.role));
        let wire_names = view.wire_names(false);
        let with_window = agent.map(|agent| (agent, profiles.context_window(agent)));
        let injection = injection::settings(&app.config.runtime, with_window, view);
        let plan = scripts::plan(|| view.tools(), app.config.runtime.scripts, &injection, &wire_names)
            .map_err(|error| wrong(error.to_string()))?;
        let tool_choice = injection::tool_choice(agent, view, &wire_names).map_err(wrong)?;
        let instructions = remembered.as_deref().map(memory::instructions).unwrap_or_default();
        let prompt = SystemPrompt::new(&plan)
            .with_memory(remembered.as_deref().unwrap_or_default())
            .with_memory_instructions(&instructions)
            .with_agent(id, role)
            .with_agents(view.agents())
            .with_skills(view.skills().map(|skill| (format!("/{}", skill.name), skill.about())))
            .with_channels(view.channels())
            .with_source_notes(view.usage_notes())
            .with_user_prompt(agent.map_or("", |agent| &agent.system_prompt));
        let system_prompt = prompt.render();
        let in_style = |style| {
            let mut brains = agent.into_iter().flat_map(AgentConfig::brains);
            let is_used = brains.any(|brain| brain.call_style() == style);
            is_used.then(|| prompt.clone().with_style(style).render().text)
        };
        let text_prompt = in_style(CallStyle::Text);
        let native_prompt = in_style(CallStyle::Native);
        let model = agent.map_or("", |agent| &agent.brain.model);
        let settings = AgentSettings::new(id, model, &plan, wire_names.clone())
            .with_system_prompt(native_prompt.unwrap_or_else(|| system_prompt.text.clone()))
            .with_context_window(plan.context_window)
            .with_compact_at(app.config.runtime.compact_at.unwrap_or(DEFAULT_COMPACT_AT))
            .with_pictures(agent.is_some_and(|agent| agent.brain.images == Some(true)))
            .with_tool_choice(tool_choice)
            .with_returned_reasoning(agent.is_some_and(|agent| agent.brain.provider.wants_reasoning_back()))
            .with_output_schema(app.output_schema())
            .with_limits(run_limits(&app.config.runtime));
        Ok(Self {
            id: id.to_owned(),
            session: view.principal.session.to_owned(),
            generation: view.snapshot.generation(),
            plan,
            wire_names,
            style: injection.style,
            system_prompt,
            settings,
            text_prompt,
            remembered,
            overrides,
            config: config.map(|(position, _)| position).zip(agent.cloned()),
        })
    }

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

    /// Returns the wire name of a tool, in any spelling, and the only argument that it requires, which is a text.
    pub(super) fn text_tool(&self, spelling: &str) -> Result<(String, String), String> {
        let all = self.plan.offered.iter().chain(&self.plan.hidden);
        let is_meant = |tool: &&OfferedTool| {
            [tool.name.dotted(), tool.name.to_string(), tool.wire_name.clone()].contains(&spelling.to_owned())
        };
        let tool = all.into_iter().find(is_meant);
        let tool = tool.ok_or_else(|| {
            format!("`text_tools` names an unknown tool `{spelling}`; see `toolcrib tools`")
        })?;
        let list = |key: &str| tool.parameters().get(key).and_then(Value::as_array);
        let Some([Value::String(argument)]) = list("required").map(Vec::as_slice) else {
            return Err(format!("`{spelling}` does not require one argument alone; remove it"));
        };
        let kind = tool.parameters().pointer("/properties").and_then(|all| all.get(argument)?.get("type"));
        if kind.and_then(Value::as_str) != Some("string") {
            return Err(format!("the argument `{argument}` of `{spelling}` is no text; remove `{spelling}`"));
        }
        Ok((tool.wire_name.clone(), argument.clone()))
    }

    /// Returns a model that plays the turns of a file.
    pub fn replay(&self, path: &std::path::Path) -> Result<ChosenModel, Error> {
        Ok(ChosenModel { model: self.recorded(path, CallStyle::Native)?, notice: None })
    }

    /// Returns a model for the loop, in any call style.
    pub(super) fn in_style(&self, style: CallStyle, model: Arc<dyn ChatModel>) -> Arc<dyn ChatModel> {
        let names = ToolNames::from(&self.wire_names);
        match style {
            CallStyle::Native => Arc::new(RecoveringModel::new(model, names)),
            CallStyle::Text => {
                let model = TextModel::new(model, names);
                Arc::new(model.with_system_prompt(self.text_prompt.as_deref().unwrap_or_default()))
            }
        }
    }

    pub(super) fn recorded(
        &self,
        path: &std::path::Path,
        style: CallStyle,
    ) -> Result<Arc<dyn ChatModel>, Error> {
        let bytes = read_bounded(path, MAX_RECORDING_BYTES as u64)
            .map_err(|source| Error::Recording { path: path.to_owned(), source })?;
        let model = RecordedModel::new(path.display().to_string(), &bytes, style)?;
        Ok(self.in_style(style, Arc::new(model)))
    }
}
