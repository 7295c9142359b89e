//! The settings of one entry of `modules`.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use toolcrib_exec::flow::SourceLimits;
use toolcrib_model::JsonObject;
use toolcrib_policy::Constraints;
use toolcrib_policy::access::AccessRules;

use crate::sections::values::present;

/// One entry of `modules`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
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
