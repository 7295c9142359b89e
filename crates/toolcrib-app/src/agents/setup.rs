//! The setup of one agent of an app: its tools, its prompt and its settings.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use toolcrib_agent::{
    AgentSettings, ChatModel, MAX_RECORDING_BYTES, RecordedModel, RecoveringModel, TextModel,
};
use toolcrib_app::sections::agents::AgentConfig;
use toolcrib_io::files::read_bounded;
use toolcrib_prompt::{
    CallStyle, Injection, MAX_USER_PROMPT_CHARS, Plan, RenderedPrompt, Role, ToolNames, WireNames,
};

use crate::Error;

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
    pub(crate) text_prompt: Option<String>,
    /// The memory of the agent at the time of the setup.
    pub(crate) remembered: Option<String>,
    pub(crate) config: Option<(usize, AgentConfig)>,
}

/// The setups that were made last.
#[derive(Default)]
pub(crate) struct Setups {
    kept: Mutex<VecDeque<Arc<AgentSetup>>>,
}

impl Setups {
    pub(crate) fn get(&self, agent: &str, session: &str, generation: u64) -> Option<Arc<AgentSetup>> {
        let kept = self.kept.lock();
        let is_meant = |setup: &&Arc<AgentSetup>| {
            setup.generation == generation && setup.id == agent && setup.session == session
        };
        kept.iter().find(is_meant).cloned()
    }

    /// Forgets all of them, so that they are made again.
    pub(crate) fn forget(&self) {
        self.kept.lock().clear();
    }

    pub(crate) fn keep(&self, setup: Arc<AgentSetup>) {
        let mut kept = self.kept.lock();
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
    pub(crate) fn in_style(&self, style: CallStyle, model: Arc<dyn ChatModel>) -> Arc<dyn ChatModel> {
        let names = ToolNames::from(&self.wire_names);
        match style {
            CallStyle::Native => Arc::new(RecoveringModel::new(model, names)),
            CallStyle::Text => {
                let model = TextModel::new(model, names);
                Arc::new(model.with_system_prompt(self.text_prompt.as_deref().unwrap_or_default()))
            }
        }
    }

    pub(crate) fn recorded(
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
