//! Declared behaviour of tools.

use std::num::NonZeroU32;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use crate::tool::app::is_only_for_apps;
use crate::{JsonObject, Risk, Tool};

/// The declared behaviour of a tool: effects, limits, and who may see it.
///
/// The source of truth is the metadata of the tool, which is written and stored. A value of another form than the one
/// described counts as absent.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "the traits are independent, and each is declared on its own"
)]
#[non_exhaustive]
pub struct ToolTraits {
    /// The potential harm of a call (`risk`); medium if it is absent.
    pub risk: Risk,
    /// The effects of a call outside of the tool (`side_effects`).
    pub side_effects: Vec<String>,
    /// True if a second identical call has no further effect (`idempotent`).
    pub idempotent: bool,
    /// True if each call needs approval unless the tool is granted by name (`confirmation_required`). Any value other
    /// than a boolean means true: `yes` is a text in YAML.
    pub confirmation_required: bool,
    /// True if the tool exists only where a rule matches it (`exposed_when_granted`).
    pub exposed_when_granted: bool,
    /// The permission to reuse results (`cacheable`: true, or an object).
    pub cacheable: Option<Cacheable>,
    /// The time limit of a call (`timeout_seconds`).
    pub timeout: Option<Duration>,
    /// The maximum number of calls at the same time (`max_concurrency`).
    pub max_concurrency: Option<NonZeroU32>,
    /// The maximum number of tokens of a result that a model gets whole (`max_result_tokens`).
    pub max_result_tokens: Option<u64>,
    /// True if the tool should no longer be used (`deprecated`).
    pub deprecated: bool,
    /// The hint that the tool reaches the outside world (`openWorldHint` of `annotations`), if there is one.
    pub open_world: Option<bool>,
    /// True if models may not see the tool (`for_models: false`). Only programs call a tool that represents a request
    /// of a protocol.
    pub only_for_programs: bool,
    /// True if only user interfaces may call the tool, through the host that renders them (`ui.visibility` of `mcp_meta`
    /// without `model`). Models may not see it.
    pub only_for_apps: bool,
    /// True if people cannot select the tool from a list (`user_selectable: false`).
    pub unlisted: bool,
    /// True if the tool is part of the agent runtime itself (`operational`); [`Tool::presence`](crate::Tool::presence)
    /// is the condition for offering it.
    pub operational: bool,
    /// True if a tool of the runtime finds and runs others (`discovery`).
    pub discovery: bool,
    /// The step of the workflow that such a tool serves (`discovery_step`).
    pub discovery_step: Option<DiscoveryStep>,
    /// True if the results of such a tool name the tools that a search found (`finds_tools`).
    pub finds_tools: bool,
    pub(crate) presence: Option<Presence>,
    pub(crate) forwards: Option<Forwarding>,
    pub(crate) target: Option<DeferredCall>,
    pub(crate) runs_others: bool,
    pub(crate) clamps: bool,
    pub(crate) awaits_user: bool,
}

/// The permission to reuse the results of a tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cacheable {
    /// The lifetime of a result (`ttl_seconds`), if the tool sets one.
    pub ttl: Option<Duration>,
    /// True if all callers get the same result (`scope: shared`).
    pub is_shared: bool,
}

/// The condition for offering a model an operational tool ([`ToolTraits::operational`]), in modes that do not offer all
/// tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Presence {
    /// The tool is always offered.
    Essential,
    /// The tool is offered if the budget has room for it.
    Optional,
    /// The model has to find the tool, as it finds those of sources.
    OnDemand,
}

/// A step from finding to calling a hidden tool, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DiscoveryStep {
    /// The tool is found.
    Discover,
    /// The schema of the tool is read.
    Inspect,
    /// The tool is called.
    Execute,
}

/// The calls that a tool of the runtime forwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Forwarding {
    /// One call, as with `execute_tool`.
    Call,
    /// Several calls, as with `run_parallel`.
    Calls,
}

/// The arguments with the call that a tool of the runtime makes later.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct DeferredCall {
    /// The key of the tool's name.
    pub name: String,
    /// The argument that holds the name and the arguments, if they are not arguments themselves.
    pub within: Option<String>,
}

impl ToolTraits {
    /// Returns true if a call changes nothing: its risk is declared as low, and it has no side effects.
    pub fn is_read_only(&self) -> bool {
        self.risk == Risk::Low && self.side_effects.is_empty()
    }

    /// Returns true if a call may be repeated without further effect.
    pub fn may_repeat(&self) -> bool {
        self.is_read_only() || self.idempotent
    }

    /// Returns true if models may see the tool.
    pub fn is_for_models(&self) -> bool {
        !self.only_for_programs && !self.only_for_apps
    }

    /// Reads metadata.
    pub(crate) fn of(metadata: &JsonObject) -> Self {
        let mut traits = Self::default();
        for (key, value) in metadata {
            traits.read(key, value);
        }
        traits
    }

    /// Reads one entry of metadata. Other entries remain data of the tool's source.
    pub(crate) fn read(&mut self, key: &str, value: &Value) {
        let is_true = value == &Value::Bool(true);
        match key {
            "risk" => self.risk = value.as_str().and_then(Risk::parse).unwrap_or_default(),
            "side_effects" => self.side_effects = texts(value).map(str::to_owned).collect(),
            "idempotent" => self.idempotent = is_true,
            "confirmation_required" => {
                self.confirmation_required = !matches!(value, Value::Null | Value::Bool(false));
            }
            "exposed_when_granted" => self.exposed_when_granted = is_true,
            "cacheable" => self.cacheable = Cacheable::read(value),
            "timeout_seconds" => {
                self.timeout = value.as_f64().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
            }
            "max_concurrency" => {
                let count = value.as_u64().map(|count| u32::try_from(count).unwrap_or(u32::MAX));
                self.max_concurrency = count.and_then(NonZeroU32::new);
            }
            "max_result_tokens" => self.max_result_tokens = value.as_u64(),
            "deprecated" => self.deprecated = is_true,
            "annotations" => self.open_world = value.get("openWorldHint").and_then(Value::as_bool),
            "for_models" => self.only_for_programs = value == &Value::Bool(false),
            Tool::PROTOCOL_META => self.only_for_apps = is_only_for_apps(value),
            "user_selectable" => self.unlisted = value == &Value::Bool(false),
            "operational" => self.operational = is_true,
            "presence" => self.presence = Deserialize::deserialize(value).ok(),
            "discovery" => self.discovery = is_true,
            "discovery_step" => self.discovery_step = Deserialize::deserialize(value).ok(),
            "finds_tools" => self.finds_tools = is_true,
            "forwards" => self.forwards = Deserialize::deserialize(value).ok(),
            "target" => self.target = Deserialize::deserialize(value).ok(),
            "runs_others" => self.runs_others = is_true,
            "clamps" => self.clamps = is_true,
            "awaits_user" => self.awaits_user = is_true,
            _ => {}
        }
    }
}

impl Cacheable {
    fn read(declared: &Value) -> Option<Self> {
        if declared == &Value::Bool(true) {
            return Some(Self::default());
        }
        let declared = declared.as_object()?;
        let ttl = match declared.get("ttl_seconds") {
            None => None,
            Some(seconds) => {
                let seconds = seconds.as_f64().filter(|seconds| *seconds >= 0.0)?;
                Some(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
            }
        };
        let is_shared = match declared.get("scope").map(Value::as_str) {
            None | Some(Some("session")) => false,
            Some(Some("shared")) => true,
            Some(_) => return None,
        };
        Some(Self { ttl, is_shared })
    }
}

/// Returns the texts of a list.
pub(crate) fn texts(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str)
}

impl DiscoveryStep {
    /// All steps, in order.
    pub const ALL: [Self; 3] = [Self::Discover, Self::Inspect, Self::Execute];
}
