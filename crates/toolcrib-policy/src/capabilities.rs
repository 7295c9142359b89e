//! The section `tools.capabilities` of an app file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_model::Risk;

use crate::Condition;
use crate::access::AccessRules;
use crate::present_value::present;

/// The effect of a rule on a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
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

impl Effect {
    /// Returns the effect as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Grant => "grant",
            Self::Approve => "approve",
            Self::Deny => "deny",
        }
    }
}

/// `modules.<id>.constraints`: which actions of one module exist for agents at all.
///
/// ```yaml
/// modules:
///   database:
///     constraints:
///       allowed_actions: ["list_*", execute_query]
///       blocked_actions: [list_secrets]
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Constraints {
    /// Only these actions; all when absent. Globs.
    pub allowed_actions: Option<Vec<String>>,
    /// Not these actions. Globs.
    #[serde(default)]
    pub blocked_actions: Vec<String>,
}

/// `tools.capabilities`: the rules of the gate.
///
/// ```yaml
/// tools:
///   capabilities:
///     # Where no rule speaks: grant, approve (a person is asked) or deny.
///     default_policy: approve
///     # Tools above this risk do not exist.
///     max_risk_level: medium
///     grant:
///       - {module: filesystem, actions: [read, ls]}
///       - {module: filesystem, actions: [write], arguments: [{path: /path, matches: "notes/.*"}]}
///       - {module: "*", risk: low, agent: "research-*"}
///     approve:
///       - {module: mail, actions: ["send_*"]}
///     deny:
///       - {module: shell, session: "guest-*"}
///       - {module: payments, arguments: [{path: /currency, in: [XAU, BTC]}]}
///     # What modules may reach.
///     access:
///       network: [api.example.com, "*.example.org:443"]
///       filesystem: [{path: data, mode: read}]
///       system: [git]
/// ```
///
/// The first that speaks decides: the constraints of the module, a deny, `max_risk_level`, an approve, a grant, the
/// default. A grant does not spare a tool of high risk, or one with `confirmation_required`, the question, unless it
/// names both module and action without a pattern.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Capabilities {
    /// The effect if no rule matches; `approve` by default.
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
    /// The resources that modules may access for any tool; unlimited by default.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub access: Option<AccessRules>,
}

/// The calls that a rule matches: those that satisfy every given field. At least one of `module`, `actions` and `risk` is
/// required, so that a field left empty by mistake never makes a rule match everything; `module: "*"` does.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// Conditions on the arguments, all of which have to hold. Without conditions, all arguments match.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Vec<Condition>>,
    /// The agent that calls; anybody when absent. A glob. A person, or a client of the server, is no agent and fits
    /// none, not even `*`.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The session that the call belongs to; any when absent. A glob.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}
