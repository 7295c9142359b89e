//! `agents`: the agents of an app, and their models.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de};
use serde_json::Value;
use toolcrib_agent::Provider;
use toolcrib_agent::chat::RequestOptions;
use toolcrib_document::Error;
use toolcrib_model::JsonObject;
use toolcrib_prompt::Profile;
use toolcrib_prompt::system_prompt::CallStyle;

use crate::AppFile;
use crate::findings::Findings;
use crate::sections::response_format::ResponseFormatConfig;
use crate::sections::values::{amount, some_amount, unknown};

/// The role of agents that start others.
const COORDINATOR: &str = "coordinator";

/// The role of all others.
const ASSISTANT: &str = "assistant";

/// The agent of an app that has none, such as one that is only served.
pub const DEFAULT_AGENT: &str = "assistant";

/// One entry of `agents`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentConfig {
    /// The name of the agent.
    pub id: String,
    /// `assistant` or `coordinator`.
    #[serde(default = "assistant")]
    pub role: String,
    /// The model of the agent.
    pub brain: BrainConfig,
    /// The purpose of the agent, for agents that can delegate to it. By default the first line of `system_prompt`.
    pub description: Option<String>,
    /// Instructions; the last part of the system prompt.
    #[serde(default)]
    pub system_prompt: String,
    /// The skills that the agent may use. By default all.
    pub capabilities: Option<Vec<String>>,
}

fn assistant() -> String {
    ASSISTANT.into()
}

/// `agents[].brain`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BrainConfig {
    /// The provider of the model, which determines the API, the key and the default server.
    pub provider: Provider,
    /// The name of the model at the provider.
    #[serde(default)]
    pub model: String,
    /// The URL of the server. By default, and if empty, that of the provider.
    pub base_url: Option<String>,
    /// The API key, as `${NAME}`. By default the provider's variable.
    pub api_key: Option<String>,
    /// The context window in tokens. By default the servers of `ollama`, `lm_studio` and `vllm` are asked, with 8,192
    /// as a fallback; for `anthropic` it is 200,000, and for others 131,072.
    pub context_window: Option<NonZeroU32>,
    /// True if the model calls tools through its API, false if it writes calls as text. By default the provider's
    /// usual way.
    pub native_tool_use: Option<bool>,
    /// The form of tool schemas that the server accepts. By default that of the provider's API.
    pub schemas: Option<SchemaForm>,
    /// The tool choice of the first turn of a run: `auto` (the default), `none`, `required`, or the name of a tool.
    /// Requires a model that calls through its API.
    #[schemars(with = "Option<String>")]
    pub tool_choice: Option<ToolChoiceConfig>,
    /// True, the default, if answers are streamed.
    pub stream: Option<bool>,
    /// The longest silence of the server in seconds: 120 by default for streams, 600 for answers that are not
    /// streamed.
    pub timeout_seconds: Option<NonZeroU32>,
    /// The sampling temperature, from 0 to 2. By default that of the server.
    pub temperature: Option<f64>,
    /// The nucleus sampling share, from 0 to 1. By default that of the server.
    pub top_p: Option<f64>,
    /// The maximum number of tokens of one message. By default that of the server, and 16,384 for `anthropic`. An answer
    /// that is cut off is continued `runtime.max_continuations` times, and then it is `truncated`.
    pub max_tokens: Option<NonZeroU32>,
    /// Texts at which the model stops, at most 16.
    #[serde(default)]
    pub stop: Vec<String>,
    /// The seed for repeatable output, if the server supports it.
    pub seed: Option<i64>,
    /// The form of each message. By default that of the server.
    pub response_format: Option<ResponseFormatConfig>,
    /// True if the server is asked for the log-probabilities of tokens. By default it is not.
    pub logprobs: Option<bool>,
    /// Further keys of each request, such as `reasoning_effort`: at most 32, with 16 KiB in total. Keys that Toolcrib
    /// sets cannot be changed.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Value>")]
    pub extra: JsonObject,
    /// True if the model sees pictures in results. Otherwise it gets their type and size.
    #[serde(default)]
    pub images: bool,
    /// The prices of tokens. By default unknown.
    pub prices: Option<PricesConfig>,
    /// Models to ask, in this order, if this one cannot answer.
    #[serde(default)]
    pub fallback: Vec<BrainConfig>,
    /// A file of recorded turns, relative to the app file. `provider: recorded` plays it, and any other provider does
    /// while its key is not set.
    pub recording: Option<String>,
}

impl BrainConfig {
    /// Returns the call style of the model.
    pub fn call_style(&self) -> CallStyle {
        match self.native_tool_use {
            Some(true) => CallStyle::Native,
            Some(false) => CallStyle::Text,
            None => self.provider.call_style(),
        }
    }

    /// Returns the schema profile of its API; `None` for the original schemas.
    fn profile(&self) -> Option<Profile> {
        match self.schemas {
            None => Some(self.provider.profile()),
            Some(SchemaForm::OpenAi) => Some(Profile::OpenAi),
            Some(SchemaForm::Anthropic) => Some(Profile::Anthropic),
            Some(SchemaForm::Gemini) => Some(Profile::Gemini),
            Some(SchemaForm::Portable) => Some(Profile::Portable),
            Some(SchemaForm::Original) => None,
        }
    }

    /// Returns the options of each request.
    pub fn parameters(&self) -> RequestOptions {
        RequestOptions {
            temperature: self.temperature,
            top_p: self.top_p,
            max_tokens: self.max_tokens.map(NonZeroU32::get),
            stop: self.stop.clone(),
            seed: self.seed,
            n: None,
            response_format: self.response_format.as_ref().map(ResponseFormatConfig::format),
            logprobs: self.logprobs,
            extra: self.extra.clone(),
        }
    }
}

/// `agents[].brain.schemas`: the form in which schemas are sent to the server. Calls are always validated against the
/// original schemas.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SchemaForm {
    /// The form that `OpenAI` accepts.
    #[serde(rename = "openai")]
    OpenAi,
    /// The form that Anthropic accepts.
    Anthropic,
    /// The form that Gemini accepts.
    Gemini,
    /// The form that all of them accept.
    Portable,
    /// The original schemas.
    Original,
}

/// `agents[].brain.tool_choice`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolChoiceConfig {
    /// The model decides.
    Auto,
    /// It must answer without.
    None,
    /// It must call one.
    Required,
    /// It must call this one.
    Tool(String),
}

impl ToolChoiceConfig {
    /// Returns the tool that has to be called.
    pub fn tool(&self) -> Option<&str> {
        match self {
            Self::Tool(name) => Some(name),
            Self::Auto | Self::None | Self::Required => None,
        }
    }
}

impl<'de> Deserialize<'de> for ToolChoiceConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match text.as_str() {
            "auto" => Ok(Self::Auto),
            "none" => Ok(Self::None),
            "required" => Ok(Self::Required),
            // A tool has a namespace, so a misspelt word is not a tool.
            name if name.contains(['.', ':']) => Ok(Self::Tool(text)),
            word => Err(de::Error::custom(format_args!(
                "unknown `tool_choice` `{word}`; write `auto`, `none`, `required`, or a tool as `namespace.name`"
            ))),
        }
    }
}

/// `agents[].brain.prices`: prices of a million tokens, in any currency.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PricesConfig {
    /// The price of tokens read.
    #[serde(deserialize_with = "amount")]
    pub input: f64,
    /// The price of tokens read from the cache of the server. By default that of `input`.
    #[serde(default, deserialize_with = "some_amount")]
    pub cached_input: Option<f64>,
    /// The price of tokens written.
    #[serde(deserialize_with = "amount")]
    pub output: f64,
}

impl AgentConfig {
    /// Returns true if it can start others.
    pub fn is_coordinator(&self) -> bool {
        self.role == COORDINATOR
    }

    /// Returns the description of the agent, or the first line of its prompt.
    pub fn good_for(&self) -> &str {
        let first_line = || self.system_prompt.lines().map(str::trim).find(|line| !line.is_empty());
        self.description.as_deref().or_else(first_line).unwrap_or_default()
    }

    /// Returns the models that it thinks with, the first one first.
    pub fn brains(&self) -> impl Iterator<Item = &BrainConfig> {
        std::iter::once(&self.brain).chain(&self.brain.fallback)
    }

    /// Returns the schema profile of the models with an API for tools: that of the first, or the portable one if others
    /// would refuse it. Schemas in a prompt pass no API that could refuse them.
    pub fn profile(&self) -> Option<Profile> {
        let mut brains = self.brains().filter(|brain| brain.call_style() == CallStyle::Native);
        let first = brains.next()?;
        let profile = first.profile()?;
        let is_broad = |profile| matches!(profile, Profile::OpenAi | Profile::Anthropic);
        let is_taken = |other| other == profile || is_broad(other) && is_broad(profile);
        let all_take_it = brains.filter_map(BrainConfig::profile).all(is_taken);
        Some(if first.schemas.is_some() || all_take_it { profile } else { Profile::Portable })
    }
}

/// Checks the addresses of models that are literal.
fn brain(file: &AppFile, brain: &BrainConfig, place: &str, errors: &mut Vec<Error>) {
    let url = brain.base_url.as_deref().map(str::trim).filter(|url| !url.is_empty() && !url.contains("${"));
    if let Some(url) = url.filter(|url| !["http://", "https://"].iter().any(|scheme| url.starts_with(scheme)))
    {
        let message = format!("`base_url` begins with `http://` or `https://`, as `http://{url}`");
        errors.push(file.error_at(&format!("{place}/base_url"), message));
    }
    for (position, fallback) in brain.fallback.iter().enumerate() {
        self::brain(file, fallback, &format!("{place}/fallback/{position}"), errors);
    }
}

/// Checks the agents beyond their types, and warns of those that cannot run as they are.
pub(crate) fn check(
    agents: &[AgentConfig],
    recordings: &BTreeMap<String, Result<String, Error>>,
    file: &AppFile,
    found: &mut Findings,
) {
    let errors = &mut found.errors;
    let mut ids = BTreeSet::new();
    for (position, agent) in agents.iter().enumerate() {
        if !ids.insert(&agent.id) {
            let place = format!("/agents/{position}/id");
            errors.push(file.error_at(&place, format!("there are two agents `{}`", agent.id)));
        }
        brain(file, &agent.brain, &format!("/agents/{position}/brain"), errors);
        if ![ASSISTANT, COORDINATOR].contains(&agent.role.as_str()) {
            let message = unknown("role", &agent.role, &[ASSISTANT, COORDINATOR]);
            errors.push(file.error_at(&format!("/agents/{position}/role"), message));
        }
        for (number, brain) in agent.brains().enumerate() {
            let place = match number.checked_sub(1) {
                None => format!("/agents/{position}/brain"),
                Some(number) => format!("/agents/{position}/brain/fallback/{number}"),
            };
            if let Some(message) = brain.response_format.as_ref().and_then(ResponseFormatConfig::problem) {
                errors.push(file.error_at(&format!("{place}/response_format"), message));
            }
            let parameters = brain.parameters();
            let problem = parameters.problem().or_else(|| brain.provider.option_problem(&parameters));
            if let Some((key, message)) = problem {
                errors.push(file.error_at(&format!("{place}/{key}"), message));
            }
        }
    }
    found.warnings.extend(agents.iter().filter_map(missing_model));
    for (position, agent) in agents.iter().enumerate() {
        let recording = recordings.get(&format!("/agents/{position}/brain"));
        found.warnings.extend(missing_recording(file, agent, recording));
    }
}

/// Returns a warning about an agent whose server is asked for no model by name.
fn missing_model(agent: &AgentConfig) -> Option<String> {
    let brain = &agent.brain;
    let is_asked = brain.provider != Provider::Recorded && brain.model.trim().is_empty();
    is_asked.then(|| {
        format!("the agent `{}` names no `model`; most servers refuse a request without one", agent.id)
    })
}

fn missing_recording(
    file: &AppFile,
    agent: &AgentConfig,
    recording: Option<&Result<String, Error>>,
) -> Option<String> {
    let Some(recording) = recording else {
        let is_needed = agent.brain.provider == Provider::Recorded;
        return is_needed.then(|| {
            format!("the agent `{}` has no `recording`; it needs `toolcrib run --replay FILE`", agent.id)
        });
    };
    // What is wrong with the path is said when it is played.
    let path = recording.as_ref().ok()?;
    let is_missing = !file.path(path).is_file();
    is_missing.then(|| format!("the recording `{path}` of the agent `{}` is not there", agent.id))
}
