//! The shape of `app.yaml`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use toolcrib_datagen::GenerateSettings;
use toolcrib_hooks::{GuardSettings, HookSettings};
use toolcrib_policy::Capabilities;
use toolcrib_registry::shape::ShapeSettings;

use crate::secrets::SecretProviderConfig;
use crate::sections::agents::AgentConfig;
use crate::sections::app::AppSection;
use crate::sections::approvals::ApprovalsSection;
use crate::sections::apps::CalledAppConfig;
use crate::sections::audit::AuditSection;
use crate::sections::execution::ExecutionSection;
use crate::sections::limits::LimitsSection;
use crate::sections::module_entry::ModuleConfig;
use crate::sections::profiles::ProfileConfig;
use crate::sections::runtime::RuntimeSection;
use crate::sections::search::SearchSection;
use crate::sections::serve::ServeSection;
use crate::sections::skills::SkillsSection;
use crate::sections::values::present;

/// The contents of an app file.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct AppConfig {
    /// The name, the description and the workspace of the app.
    pub app: AppSection,
    /// The agents. The first one runs if a command names none.
    pub agents: Vec<AgentConfig>,
    /// The Rust modules, by id.
    pub modules: BTreeMap<String, ModuleConfig>,
    /// The providers of secrets, in the order in which `{{secret.NAME}}` asks them, after the environment. By default the
    /// file `.env` next to the app file, and none for `toolcrib serve`.
    #[serde(deserialize_with = "present")]
    pub secrets: Option<Vec<SecretProviderConfig>>,
    /// The sources of tools, their engines, and the rules.
    pub tools: ToolsSection,
    /// Checks of calls and results by programs and webhooks, in their order.
    pub hooks: Vec<HookSettings>,
    /// The filter of results, which runs after all hooks.
    #[serde(deserialize_with = "present")]
    pub guard: Option<GuardSettings>,
    /// The workflows that agents can load.
    pub skills: SkillsSection,
    /// The store of everything that outlasts a request: a file of SQLite relative to the app file, or a URL of PostgreSQL
    /// such as `postgres://user:${PASSWORD}@host/database` for processes on several machines. The variable
    /// `TOOLCRIB_STORE` takes precedence. By default a file in the state folder of the user.
    pub store: Option<String>,
    /// Background calls, watchers and schedules.
    pub execution: ExecutionSection,
    /// The limits of runs, and how tools are shown to models.
    pub runtime: RuntimeSection,
    /// Settings of `toolcrib serve`.
    pub serve: ServeSection,
    /// Named subsets of the tools for clients of the server, each with its own surface, pins, and rules, at `/mcp/NAME`.
    pub profiles: BTreeMap<String, ProfileConfig>,
    /// The people who approve calls.
    pub approvals: ApprovalsSection,
    /// Audit records. Without this section none are written.
    #[serde(deserialize_with = "present")]
    pub audit: Option<AuditSection>,
    /// The generation of conversations as training data, by `toolcrib generate`.
    #[serde(deserialize_with = "present")]
    pub generate: Option<GenerateSettings>,
}

impl AppConfig {
    /// Returns an agent with its place in the list; the first one if none is named.
    pub fn agent(&self, id: Option<&str>) -> Option<(usize, &AgentConfig)> {
        self.agents.iter().enumerate().find(|(_, agent)| id.is_none_or(|id| agent.id == id))
    }

    /// Returns true for a pattern of namespaces that the tools of servers may have to which sessions of the app connect.
    pub fn may_be_of_session(&self, namespaces: &str) -> bool {
        let connects = self.modules.contains_key(toolcrib_loader_mcp::MODULE_ID);
        connects && namespaces.starts_with(toolcrib_loader_mcp::module::NAMESPACE_PREFIX)
    }
}

/// `tools`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ToolsSection {
    /// The sources of tools, each `{type: …}` with the settings of that loader.
    pub registry: Vec<Value>,
    /// The engines of tool files by name, each `{type: …}` with the settings of that engine.
    pub engines: BTreeMap<String, Value>,
    /// Computations over all tools after each load, in any order, each `{type: …}` with the settings of that type:
    /// `embeddings`, `dataflow` (`similarity: embeddings` or `names`), `neighbors`, `output_parameters` (a `model` infers
    /// the schemas of results). `force: true` ignores what is cached on disk.
    pub enrichments: Vec<Value>,
    /// Other names, descriptions, and argument schemas of tools, for every caller.
    pub shape: Vec<ShapeSettings>,
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
