//! The shape of `app.yaml`.

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de};
use serde_json::Value;
use toolcrib_agent::{Parameters, Provider};
use toolcrib_exec::{CacheLimits, SourceLimits, ToolLimits};
use toolcrib_model::JsonObject;
use toolcrib_policy::{AccessRules, Capabilities, Constraints};
use toolcrib_prompt::{InjectionMode, Reveal};

use crate::call_app::CalledAppConfig;
use crate::config::search::SearchSection;
use crate::config::serve::ServeSection;
use crate::config::skills::SkillsSection;

/// The contents of an app file.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AppConfig {
    /// The name, the description and the workspace of the app.
    pub app: AppSection,
    /// The agents. The first one runs if a command names none.
    pub agents: Vec<AgentConfig>,
    /// The Rust modules, by id.
    pub modules: BTreeMap<String, ModuleConfig>,
    /// The sources of tools, their engines, and the rules.
    pub tools: ToolsSection,
    /// The workflows that agents can load.
    pub skills: SkillsSection,
    /// Background calls, watchers and schedules.
    pub execution: ExecutionSection,
    /// The limits of runs, and how tools are shown to models.
    pub runtime: RuntimeSection,
    /// Settings of `toolcrib serve`.
    pub serve: ServeSection,
    /// Audit records. Without this section none are written.
    #[serde(deserialize_with = "present")]
    pub audit: Option<AuditSection>,
}

/// `app`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AppSection {
    /// The name of the app. By default the name of the file.
    pub id: Option<String>,
    /// The purpose of the app.
    pub description: Option<String>,
    /// The folder that file tools work in, relative to the app file. By default the folder of the app file.
    pub workspace: Option<String>,
    /// The prompt of `toolcrib run` if the command line has none.
    pub prompt: Option<String>,
}

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
    "assistant".into()
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
    /// as a fallback; for others it is 131,072.
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
    /// The maximum number of tokens of one message. By default that of the server. A message that is cut off ends the
    /// run with `truncated`.
    pub max_tokens: Option<NonZeroU32>,
    /// Texts at which the model stops, at most 16.
    #[serde(default)]
    pub stop: Vec<String>,
    /// The seed for repeatable output, if the server supports it.
    pub seed: Option<i64>,
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
    /// Returns the sampling parameters.
    pub(crate) fn parameters(&self) -> Parameters {
        Parameters {
            temperature: self.temperature,
            top_p: self.top_p,
            max_tokens: self.max_tokens.map(NonZeroU32::get),
            stop: self.stop.clone(),
            seed: self.seed,
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
}

impl ToolChoiceConfig {
    pub(crate) fn tool(&self) -> Option<&str> {
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

/// One entry of `modules`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ModuleConfig {
    /// The settings of the module.
    pub config: Value,
    /// Actions of the module that run once when the app starts, in this order.
    pub setup: Vec<SetupAction>,
    /// The actions that exist for agents.
    pub constraints: Constraints,
    /// Limits of calls. By default only the timeout applies.
    pub limits: SourceLimits,
    /// The resources that the module may access, within `tools.capabilities.access`. By default all of them.
    #[serde(deserialize_with = "present")]
    pub access: Option<AccessRules>,
}

/// One entry of `modules.<id>.setup`: a call that is made when the app starts.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetupAction {
    /// The name of a tool of the module, without the namespace.
    pub action: String,
    /// The arguments.
    #[serde(default)]
    pub params: JsonObject,
}

/// Returns a key that is there has a value: `access:` with nothing behind it is a mistake, not no limit.
fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// `tools`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ToolsSection {
    /// The sources of tools, each `{type: …}` with the settings of that loader.
    pub registry: Vec<Value>,
    /// The engines of tool files by name, each `{type: …}` with the settings of that engine.
    pub engines: BTreeMap<String, Value>,
    /// The rules of the gate.
    pub capabilities: Capabilities,
    /// True if a duplicate tool, or a source that does not load, stops the app. Otherwise the app runs without it.
    pub strict: bool,
    /// Limits of calls and results.
    pub limits: LimitsSection,
    /// Settings of search.
    pub search: SearchSection,
    /// Destinations of notifications outside of the conversation by name, each `{type: …}` with the settings of that
    /// type.
    pub channels: BTreeMap<String, Value>,
    /// Other apps that agents can delegate to, by name.
    pub apps: BTreeMap<String, CalledAppConfig>,
}

/// `tools.limits`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LimitsSection {
    /// The limits of every source without `limits`.
    pub source: SourceLimits,
    /// The limits of single tools by name.
    pub tools: BTreeMap<String, ToolLimits>,
    /// The cache for results of `cacheable` tools.
    pub cache: CacheLimits,
    /// The seconds that a person has to answer, from 10 to 1,800. The default is 300.
    pub approval_timeout_seconds: Option<NonZeroU32>,
    /// The maximum number of tokens of a result that a model gets in full, from 250 to 16,000. The default is 6,000.
    /// A larger result becomes a preview.
    pub result_tokens: Option<NonZeroU32>,
}

/// `audit`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a mapping with a `path`")]
pub struct AuditSection {
    /// The file that records are appended to, relative to the app file. Its folder must exist.
    pub path: String,
    /// True if records contain the values of arguments, without secrets. Otherwise they contain types and a digest.
    #[serde(default)]
    pub values: bool,
    /// The size in bytes at which the file is renamed to `.1`, replacing the previous one. The default is 64 MiB, the
    /// minimum 1 MiB.
    pub max_bytes: Option<NonZeroU64>,
    /// True if a call runs only after its record was written. Otherwise calls continue without records, for example
    /// on a full disk.
    #[serde(default)]
    pub required: bool,
    /// The key of the digests, as `${NAME}`, which makes digests of several runs comparable. By default a random one
    /// for each process.
    pub key: Option<String>,
}

/// `execution`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ExecutionSection {
    /// True if agents can create watchers.
    pub watchers: bool,
    /// True if agents can create schedules.
    pub scheduler: bool,
    /// The seconds after which a call of an agent continues in the background. By default never.
    pub background_after: Option<NonZeroU32>,
    /// The file that stores background calls, watchers and schedules, relative to the app file. By default a file in
    /// the state folder of the user.
    pub store: Option<String>,
    /// True if several processes run this app on the same store.
    pub shared: bool,
}

/// `runtime`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RuntimeSection {
    /// The form in which tools are shown to the model. The default is `auto`.
    pub tool_injection: InjectionMode,
    /// The share of the context window for tools. The default is 0.2.
    pub tool_budget: Option<f64>,
    /// The estimate of the size of tools: counted on the definitions that are sent (`payload`, the default), or a fixed
    /// number of tokens for each (`per_tool`).
    pub estimate: Option<SizeEstimate>,
    /// The tokens of a tool with `estimate: per_tool`. The default is 200.
    pub tokens_per_tool: Option<NonZeroU32>,
    /// Tools that models always see with their parameters, in any spelling.
    pub pinned: Vec<String>,
    /// The way in which a model calls a tool that it found: `execute` (the default) through `execute_tool`, or
    /// `append`, which also adds the tool to the request.
    pub reveal: Reveal,
    /// The maximum number of turns of a run. The default is 50.
    pub max_turns: Option<NonZeroU32>,
    /// The maximum number of calls of a run and of the work that it delegates. The default is 200.
    pub max_calls: Option<NonZeroU32>,
    /// The maximum number of failed calls in a row. The default is 10.
    pub max_failures: Option<NonZeroU32>,
    /// The maximum number of tokens, read and written, of a run and of the work that it delegates. The default is
    /// 10,000,000.
    pub max_tokens: Option<NonZeroU64>,
    /// The maximum cost of a run and of the work that it delegates, in the currency of `brain.prices`. The default is
    /// 10. It requires prices.
    #[serde(deserialize_with = "some_amount")]
    pub max_cost: Option<f64>,
    /// The share of the context window, from 0.1 to 1, at which older results and turns are compacted. The default is
    /// 0.75.
    pub compact_at: Option<f64>,
    /// The maximum number of seconds of a run. The default is 1,800.
    pub max_seconds: Option<NonZeroU32>,
}

/// `runtime.estimate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SizeEstimate {
    /// Counts the tokens that are sent.
    Payload,
    /// Assumes a fixed number of tokens for each tool.
    PerTool,
}

/// The largest amount of money that is taken for one.
const MAX_AMOUNT: f64 = 1e9;

/// Returns an amount of money.
fn amount<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let amount = f64::deserialize(deserializer)?;
    if (0.0..=MAX_AMOUNT).contains(&amount) {
        return Ok(amount);
    }
    Err(de::Error::custom(format_args!("must be a number from 0 to {MAX_AMOUNT}, not {amount}")))
}

pub(crate) fn some_amount<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    amount(deserializer).map(Some)
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
