//! `agents`: the agents of an app, and their models.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de};
use serde_json::Value;
use toolcrib_agent::Provider;
use toolcrib_agent::chat::RequestOptions;
use toolcrib_document::Error;
use toolcrib_model::JsonObject;
use toolcrib_prompt::system_prompt::CallStyle;
use toolcrib_prompt::{InjectionMode, Profile};

use crate::AppFile;
use crate::findings::Findings;
use crate::sections::response_format::ResponseFormatConfig;
use crate::sections::values::{amount, some_amount, unknown};

/// The most tools of a list in `tool_choice`.
const MAX_CHOSEN_TOOLS: usize = 64;

/// The role of agents that start others.
const COORDINATOR: &str = "coordinator";

/// The role of all others.
const ASSISTANT: &str = "assistant";

/// The agent of an app that has none, such as one that is only served.
pub const DEFAULT_AGENT: &str = "assistant";

/// One entry of `agents`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
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
#[non_exhaustive]
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
    /// The command that prints the API key, such as `[gcloud, auth, print-access-token]`, in place of `api_key`. It runs
    /// again after 5 minutes, and if the server refuses the key.
    #[serde(default)]
    pub api_key_command: Vec<String>,
    /// The form in which the key is sent. By default that of the provider.
    pub auth: Option<AuthForm>,
    /// The context window in tokens. By default as the server reports it; else 8,192 for `ollama`, `lm_studio`, `vllm`,
    /// `llama_cpp`, and `sglang`, 200,000 for `anthropic`, and 131,072 for others.
    pub context_window: Option<NonZeroU32>,
    /// True if the model calls tools through its API, false if it writes calls as text. By default as the server reports
    /// it, or the provider's usual way.
    pub native_tool_use: Option<bool>,
    /// The form of tool schemas that the server accepts. By default that of the provider's API.
    pub schemas: Option<SchemaForm>,
    /// The tool choice of the first turn of a run: `auto` (the default), `none`, `required`, the name of a tool, or a list
    /// of tools of which one has to be called, which `anthropic` does not take. Requires a model that calls through its API.
    #[serde(default)]
    #[schemars(schema_with = "tool_choice_schema")]
    pub tool_choice: Option<ToolChoiceConfig>,
    /// True if the server keeps calls to the schemas of tools, for those schemas whose objects have all of their properties
    /// and no others. By default false. For `anthropic` and `openai_responses`.
    #[serde(default)]
    pub strict_tools: bool,
    /// True if the server streams arguments as the model writes them, before it knows that they are JSON. By default false.
    /// For `anthropic`.
    #[serde(default)]
    pub eager_tool_streaming: bool,
    /// Tools whose only required argument is a text, which the model writes as it is, instead of in JSON. For
    /// `openai_responses`.
    #[serde(default)]
    pub text_tools: Vec<String>,
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
    /// The number of replies that each request asks for, at most 32, if the server supports it. An agent continues with the
    /// first. The replies to a request for several are not streamed. By default 1.
    pub n: Option<NonZeroU32>,
    /// The form of each message. By default that of the server.
    pub response_format: Option<ResponseFormatConfig>,
    /// True if the server is asked for the log-probabilities of tokens. By default it is not.
    pub logprobs: Option<bool>,
    /// Further keys of each request, such as `reasoning_effort`: at most 32, with 16 KiB in total. Keys that Toolcrib
    /// sets cannot be changed.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Value>")]
    pub extra: JsonObject,
    /// True if the model sees pictures in results. Otherwise it gets their type and size. By default as the server
    /// reports it, or false.
    pub images: Option<bool>,
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
            n: self.n.map(NonZeroU32::get),
            response_format: self.response_format.as_ref().map(ResponseFormatConfig::format),
            logprobs: self.logprobs,
            extra: self.extra.clone(),
        }
    }
}

/// `agents[].brain.auth`: the form in which the key is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum AuthForm {
    /// As a bearer token in the header `Authorization`, as Vertex AI and Amazon Bedrock want it.
    Bearer,
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
#[non_exhaustive]
pub enum ToolChoiceConfig {
    /// The model decides.
    Auto,
    /// It must answer without.
    None,
    /// It must call one.
    Required,
    /// It must call this one.
    Tool(String),
    /// It must call one of these.
    OneOf(Vec<String>),
}

/// Returns the schema of `tool_choice`: a word, a name, or names.
fn tool_choice_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": ["string", "array", "null"],
        "items": {"type": "string"},
        "minItems": 1,
        "maxItems": MAX_CHOSEN_TOOLS,
    })
}

impl ToolChoiceConfig {
    /// Returns the tools of which one has to be called.
    pub fn tools(&self) -> &[String] {
        match self {
            Self::Tool(name) => std::slice::from_ref(name),
            Self::OneOf(names) => names,
            Self::Auto | Self::None | Self::Required => &[],
        }
    }
}

impl<'de> Deserialize<'de> for ToolChoiceConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = match Value::deserialize(deserializer)? {
            Value::String(text) => text,
            Value::Array(names) => {
                let count = names.len();
                let names = names.into_iter().map(|name| match name {
                    Value::String(name) => Some(name),
                    _ => None,
                });
                return match names.collect::<Option<Vec<_>>>() {
                    Some(names) if (1..=MAX_CHOSEN_TOOLS).contains(&count) => Ok(Self::OneOf(names)),
                    Some(_) => Err(de::Error::custom(format_args!(
                        "`tool_choice` names from 1 to {MAX_CHOSEN_TOOLS} tools, found {count}"
                    ))),
                    None => Err(de::Error::custom("`tool_choice` is a word, a tool, or a list of tools")),
                };
            }
            _ => return Err(de::Error::custom("`tool_choice` is a word, a tool, or a list of tools")),
        };
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
#[non_exhaustive]
pub struct PricesConfig {
    /// The price of tokens read.
    #[serde(deserialize_with = "amount")]
    pub input: f64,
    /// The price of tokens read from the cache of the server. By default that of `input`.
    #[serde(default, deserialize_with = "some_amount")]
    pub cached_input: Option<f64>,
    /// The price of tokens read that the server writes to its cache; Anthropic charges 1.25 times that of `input`. By
    /// default that of `input`.
    #[serde(default, deserialize_with = "some_amount")]
    pub cache_write: Option<f64>,
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

    /// Returns a model that it thinks with, to be changed; 0 is the first one.
    pub(crate) fn brain_mut(&mut self, number: usize) -> Option<&mut BrainConfig> {
        match number.checked_sub(1) {
            None => Some(&mut self.brain),
            Some(number) => self.brain.fallback.get_mut(number),
        }
    }

    /// Returns the first of its models whose API does not load tools that a search finds, and its position.
    pub fn undeferred(&self) -> Option<(usize, &BrainConfig)> {
        let defers =
            |brain: &BrainConfig| brain.provider.defers_tools() && brain.call_style() == CallStyle::Native;
        self.brains().enumerate().find(|(_, brain)| !defers(brain))
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
    if brain.api_key.is_some() && !brain.api_key_command.is_empty() {
        let message = "`api_key_command` takes the place of `api_key`; remove one of them";
        errors.push(file.error_at(&format!("{place}/api_key_command"), message));
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
            let place = brain_place(position, number);
            if let Some(message) = brain.response_format.as_ref().and_then(ResponseFormatConfig::problem) {
                errors.push(file.error_at(&format!("{place}/response_format"), message));
            }
            let is_list = matches!(agent.brain.tool_choice, Some(ToolChoiceConfig::OneOf(_)));
            if is_list && !brain.provider.takes_tool_lists() {
                let message = format!("`{}` takes no list of tools; name one tool", brain.provider);
                errors.push(file.error_at(&format!("/agents/{position}/brain/tool_choice"), message));
            }
            if let Some((key, message)) = tool_form_problem(brain) {
                errors.push(file.error_at(&format!("{place}/{key}"), message));
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

/// Finds the first form of tools that the API of a model does not have: the key, and what is wrong.
fn tool_form_problem(brain: &BrainConfig) -> Option<(&'static str, String)> {
    let forms = [
        ("strict_tools", brain.strict_tools, brain.provider.takes_strict_tools()),
        ("eager_tool_streaming", brain.eager_tool_streaming, brain.provider.streams_eagerly()),
        ("text_tools", !brain.text_tools.is_empty(), brain.provider.takes_text_tools()),
    ];
    let (key, ..) = forms.into_iter().find(|(_, is_set, is_taken)| *is_set && !is_taken)?;
    Some((key, format!("the API of `{}` has no `{key}`; remove it", brain.provider)))
}

/// Checks that the APIs of the models defer tools, where the app file asks for it.
pub(crate) fn check_injection(
    agents: &[AgentConfig],
    mode: InjectionMode,
    file: &AppFile,
    errors: &mut Vec<Error>,
) {
    if mode != InjectionMode::Native {
        return;
    }
    for (position, agent) in agents.iter().enumerate() {
        let Some((number, brain)) = agent.undeferred() else { continue };
        let place = brain_place(position, number);
        let (key, problem) = if brain.provider.defers_tools() {
            let problem = "`tool_injection: native` needs a model that calls tools through its API; remove \
                           `native_tool_use: false`, or write `tool_injection: discovery`";
            ("native_tool_use", problem.to_owned())
        } else {
            let providers = Provider::ALL.into_iter().filter(|provider| provider.defers_tools());
            let providers: Vec<_> = providers.map(|provider| format!("`{provider}`")).collect();
            let problem = format!(
                "`tool_injection: native` needs a provider whose API loads tools, which are {}; found `{}`; write \
                 `tool_injection: discovery`",
                providers.join(", "),
                brain.provider
            );
            ("provider", problem)
        };
        errors.push(file.error_at(&format!("{place}/{key}"), problem));
    }
}

/// Returns the place of a model of an agent in the app file.
pub(crate) fn brain_place(agent: usize, number: usize) -> String {
    match number.checked_sub(1) {
        None => format!("/agents/{agent}/brain"),
        Some(number) => format!("/agents/{agent}/brain/fallback/{number}"),
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
