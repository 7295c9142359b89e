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
use crate::search::SearchSection;
use crate::serve_section::ServeSection;
use crate::skills::SkillsSection;

/// A whole app file.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AppConfig {
    /// What the app is.
    pub app: AppSection,
    /// Its agents; the first is the one that runs when none is named.
    pub agents: Vec<AgentConfig>,
    /// The Rust modules, by id.
    pub modules: BTreeMap<String, ModuleConfig>,
    /// Sources, engines and rules.
    pub tools: ToolsSection,
    /// The workflows that agents can load.
    pub skills: SkillsSection,
    /// Which execution primitives are on.
    pub execution: ExecutionSection,
    /// How agents run.
    pub runtime: RuntimeSection,
    /// What clients of the server get.
    pub serve: ServeSection,
    /// Where a record of each call goes; there are none when absent.
    #[serde(deserialize_with = "present")]
    pub audit: Option<AuditSection>,
}

/// `app`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AppSection {
    /// A name for the app; the file's name when absent.
    pub id: Option<String>,
    /// What the app is for.
    pub description: Option<String>,
    /// The folder that file tools work in, relative to the app file; the app file's own folder when absent.
    pub workspace: Option<String>,
    /// What `toolcrib run` asks when it is given no prompt.
    pub prompt: Option<String>,
}

/// One entry of `agents`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentConfig {
    /// Its name.
    pub id: String,
    /// `assistant` or `coordinator`.
    #[serde(default = "assistant")]
    pub role: String,
    /// The model that it thinks with.
    pub brain: BrainConfig,
    /// What it is good for, as those read it who can give it work; the first line of `system_prompt` when absent.
    pub description: Option<String>,
    /// What it is and how it behaves; the last part of its system prompt.
    #[serde(default)]
    pub system_prompt: String,
    /// The skills that it may use; all when absent.
    pub capabilities: Option<Vec<String>>,
}

fn assistant() -> String {
    "assistant".into()
}

/// `agents[].brain`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BrainConfig {
    /// Who runs the model.
    pub provider: Provider,
    /// The model's name there.
    #[serde(default)]
    pub model: String,
    /// Where its server is; the provider's own address when absent or empty.
    pub base_url: Option<String>,
    /// The key, as `${NAME}`; the provider's own variable when absent.
    pub api_key: Option<String>,
    /// Tokens that the model takes in. When absent, `ollama`, `lm_studio` and `vllm` are asked, and 8,192 is assumed where they
    /// do not say; with all others it is 131,072.
    pub context_window: Option<NonZeroU32>,
    /// Whether the model calls tools through its API rather than as text; the provider's way when absent.
    pub native_tool_use: Option<bool>,
    /// What the server accepts as the schema of a tool; what the provider's API does when absent.
    pub schemas: Option<SchemaForm>,
    /// Whether the first turn of a run may or must call tools: `auto`, `none`, `required`, or the name of a tool; `auto` when
    /// absent. Only for models that call through their API.
    #[schemars(with = "Option<String>")]
    pub tool_choice: Option<ToolChoiceConfig>,
    /// Whether answers come as a stream; they do when absent.
    pub stream: Option<bool>,
    /// Seconds that its server may be silent: between two pieces of a stream, or until an answer that is none; 120 and 600
    /// when absent.
    pub timeout_seconds: Option<NonZeroU32>,
    /// How much chance there is in what the model writes, from 0 to 2; as its server decides when absent.
    pub temperature: Option<f64>,
    /// The share of the likeliest tokens that it chooses from, from 0 to 1; as its server decides when absent.
    pub top_p: Option<f64>,
    /// The most tokens that it writes in one message; as its server decides when absent. What is cut off by it ends a run
    /// with `truncated`.
    pub max_tokens: Option<NonZeroU32>,
    /// Texts before which it stops, at most 16.
    #[serde(default)]
    pub stop: Vec<String>,
    /// A number that makes what it writes repeatable, as far as its server can do that.
    pub seed: Option<i64>,
    /// Further keys of each request, as the server knows them, such as `reasoning_effort`: at most 32, of 16 KiB. The keys
    /// that a request has already cannot be set.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Value>")]
    pub extra: JsonObject,
    /// Whether the model sees the pictures of results; it is told their type and size unless set.
    #[serde(default)]
    pub images: bool,
    /// What its tokens cost; not known when absent.
    pub prices: Option<PricesConfig>,
    /// Models that are asked, in this order, when this one cannot answer.
    #[serde(default)]
    pub fallback: Vec<BrainConfig>,
    /// A file of recorded turns, relative to the app file: what `provider: recorded` plays, and what any other
    /// provider plays while its key is not set.
    pub recording: Option<String>,
}

impl BrainConfig {
    /// How the model is to write.
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

/// `agents[].brain.schemas`: the form in which schemas are sent to the model's server. Calls are always checked against
/// the schemas as their sources gave them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SchemaForm {
    /// As `OpenAI` takes them.
    #[serde(rename = "openai")]
    OpenAi,
    /// As Anthropic takes them.
    Anthropic,
    /// As Gemini takes them.
    Gemini,
    /// As all of them take them.
    Portable,
    /// As they are.
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
            // A tool has a namespace, so that a word that is misspelt is none.
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
    /// Settings of the module's own, of the type that it says.
    pub config: Value,
    /// Its actions that run once at start, in this order.
    pub setup: Vec<SetupAction>,
    /// Which of its actions exist for agents.
    pub constraints: Constraints,
    /// How long its calls take, and how many run at once; no bound but the time when absent.
    pub limits: SourceLimits,
    /// What it may reach; what `tools.capabilities.access` says when absent. Both hold.
    #[serde(deserialize_with = "present")]
    pub access: Option<AccessRules>,
}

/// One entry of `modules.<id>.setup`: a call that the operator makes when the app starts.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetupAction {
    /// The bare name of one of the module's tools.
    pub action: String,
    /// Its arguments.
    #[serde(default)]
    pub params: JsonObject,
}

/// A key that is there has a value: `access:` with nothing behind it is a mistake, not no limit.
fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// `tools`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ToolsSection {
    /// The sources, each `{type: …}` with the settings of that loader.
    pub registry: Vec<Value>,
    /// The engines that file sources name, each `{type: …}` with the settings of that engine.
    pub engines: BTreeMap<String, Value>,
    /// The rules of the gate.
    pub capabilities: Capabilities,
    /// Whether a duplicate tool or a source that cannot be loaded stops the app; it runs without them unless set.
    pub strict: bool,
    /// How long calls take, how many run at once, how much of a result is shown.
    pub limits: LimitsSection,
    /// How tools are found.
    pub search: SearchSection,
    /// Where notifications go besides the conversation, by name, each `{type: …}` with the settings of that type.
    pub channels: BTreeMap<String, Value>,
    /// Other apps that agents may give work to, by name.
    pub apps: BTreeMap<String, CalledAppConfig>,
}

/// `tools.limits`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LimitsSection {
    /// What holds for each source whose entry has no `limits` of its own.
    pub source: SourceLimits,
    /// What holds for one tool, by its name.
    pub tools: BTreeMap<String, ToolLimits>,
    /// How much is kept of results that may be used again.
    pub cache: CacheLimits,
    /// Seconds that a person may take to answer, from 10 to 1,800; 300 when absent.
    pub approval_timeout_seconds: Option<NonZeroU32>,
    /// The most tokens of a result that a model is given whole, from 250 to 16,000; 6,000 when absent. A larger one is a preview.
    pub result_tokens: Option<NonZeroU32>,
}

/// `audit`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a mapping with a `path`")]
pub struct AuditSection {
    /// The file that records are added to, relative to the app file; made when it is not there, in a folder that is.
    pub path: String,
    /// Whether records have the values of arguments, without secrets; only their types and a digest unless set.
    #[serde(default)]
    pub values: bool,
    /// How large the file grows before it is renamed to `.1`, in place of the last; 64 MiB when absent, at least 1 MiB.
    pub max_bytes: Option<NonZeroU64>,
    /// Whether no call runs while records cannot be written, as on a full disk; calls go on without them unless set.
    #[serde(default)]
    pub required: bool,
    /// The key of the digests, as `${NAME}`, so that those of several runs can be compared; one that nobody knows when
    /// absent.
    pub key: Option<String>,
}

/// `execution`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ExecutionSection {
    /// Whether agents may watch.
    pub watchers: bool,
    /// Whether agents may schedule.
    pub scheduler: bool,
    /// The seconds after which a call of an agent goes on in the background by itself; never when absent.
    pub background_after: Option<NonZeroU32>,
    /// The file that background calls, watchers and schedules are kept in, relative to the app file; one in the folder for
    /// the state of programs when absent.
    pub store: Option<String>,
    /// Whether several processes may run this app on the same store; one alone unless set.
    pub shared: bool,
}

/// `runtime`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RuntimeSection {
    /// How tools are put before the model; `auto` when absent.
    pub tool_injection: InjectionMode,
    /// The share of the context window that tools may take; 0.2 when absent.
    pub tool_budget: Option<f64>,
    /// How the size of tools is known: counted on what is sent (`payload`), or so many tokens for each (`per_tool`); counted
    /// when absent, unless `tokens_per_tool` is there.
    pub estimate: Option<SizeEstimate>,
    /// What a tool is taken to cost with `estimate: per_tool`, in tokens; 200 when absent.
    pub tokens_per_tool: Option<NonZeroU32>,
    /// Tools that models always see with their parameters, by any spelling of their names.
    pub pinned: Vec<String>,
    /// How a tool is called that was found: `execute`, through the tool that runs others, or `append`, also by its own name,
    /// for which it is added to the request; `execute` when absent.
    pub reveal: Reveal,
    /// The most turns of a run; 50 when absent.
    pub max_turns: Option<NonZeroU32>,
    /// The most calls of a run, with those of all that it gives work to; 200 when absent.
    pub max_calls: Option<NonZeroU32>,
    /// How many calls in a row may fail; 10 when absent.
    pub max_failures: Option<NonZeroU32>,
    /// The most tokens of a run, read and written, with those of all that it gives work to; 10,000,000 when absent.
    pub max_tokens: Option<NonZeroU64>,
    /// The most that a run may cost with all that it gives work to, in the currency of `brain.prices`; 10 when absent, and
    /// nothing is known of it without prices.
    #[serde(deserialize_with = "some_amount")]
    pub max_cost: Option<f64>,
    /// The share of the context window, from 0.1 to 1, from which on older results and turns make room; 0.75 when absent.
    pub compact_at: Option<f64>,
    /// The longest a run may take; 1,800 when absent.
    pub max_seconds: Option<NonZeroU32>,
}

/// `runtime.estimate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SizeEstimate {
    /// Counted on what is sent.
    Payload,
    /// So many tokens for each tool.
    PerTool,
}

/// The largest amount of money that is taken for one.
const MAX_AMOUNT: f64 = 1e9;

/// An amount of money.
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

/// `agents[].brain.prices`: what a million tokens cost, in any currency.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PricesConfig {
    /// Of tokens read.
    #[serde(deserialize_with = "amount")]
    pub input: f64,
    /// Of tokens read that the server had kept from an earlier request; as `input` when absent.
    #[serde(default, deserialize_with = "some_amount")]
    pub cached_input: Option<f64>,
    /// Of tokens written.
    #[serde(deserialize_with = "amount")]
    pub output: f64,
}
