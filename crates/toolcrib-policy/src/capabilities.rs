//! What an app file says about who may call what.

use serde::{Deserialize, Deserializer, Serialize};
use toolcrib_model::Risk;

/// What happens to a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// It runs.
    Grant,
    /// A person is asked first. The default of a policy that says nothing.
    #[default]
    Approve,
    /// It does not run, and the tool is invisible.
    Deny,
}

/// `modules.<id>.constraints`: which actions of one module exist for agents at all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Constraints {
    /// Only these actions; all when absent. Globs.
    pub allowed_actions: Option<Vec<String>>,
    /// Not these actions. Globs.
    #[serde(default)]
    pub blocked_actions: Vec<String>,
}

/// `tools.capabilities`: the rules of the gate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capabilities {
    /// What happens where no rule speaks; `approve` when absent.
    #[serde(default)]
    pub default_policy: Effect,
    /// Tools above this risk are denied.
    #[serde(default)]
    pub max_risk_level: Option<Risk>,
    /// Calls that run.
    #[serde(default)]
    pub grant: Vec<Rule>,
    /// Calls that a person is asked about.
    #[serde(default)]
    pub approve: Vec<Rule>,
    /// Calls that do not run.
    #[serde(default)]
    pub deny: Vec<Rule>,
}

/// Which tools a rule speaks of: all that fit every part it names. It names at least one, so that a part that is left
/// empty by mistake never makes a rule speak of everything; `module: "*"` does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The module, which is the namespace of the tool; any when absent. A glob.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// The actions, which are the bare names of tools; any when absent. Globs.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub actions: Option<Vec<String>>,
    /// The risk of the tool; any when absent.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub risk: Option<Risk>,
}

/// A key that is there has a value: `module:` with nothing behind it is a mistake, not any module.
fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}
