//! The settings of the guard.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use toolcrib_model::Risk;

/// The maximum number of rules.
pub const MAX_RULES: usize = 64;

/// `guard`: the filter of results, which runs after all hooks.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct GuardSettings {
    /// Regular expressions by name, in the syntax of the crate `regex`: without backreferences and look-around.
    pub patterns: BTreeMap<String, String>,
    /// The actions on matches. For each pattern the first rule decides that names it and applies to the tool. What no
    /// rule names is allowed.
    pub rules: Vec<GuardRule>,
}

/// An entry of `guard.rules`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GuardRule {
    /// Names of patterns: own ones, the built-in ones (`email`, `phone`, `credit_card`, `iban`, `us_ssn`, `token`,
    /// `private_key`, `jwt`, `override`, `chat_markup`, `secrecy`, `hidden_text`), and their groups `pii`, `keys` and
    /// `instructions`.
    pub detect: Vec<String>,
    /// The action on results with a match.
    pub action: GuardAction,
    /// The tools, as `namespace.name` or globs of such names. By default all.
    #[serde(default)]
    pub tools: Vec<String>,
    /// The lowest risk of the tools. By default any.
    #[serde(default)]
    pub min_risk_level: Option<Risk>,
}

/// The action on a result with a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum GuardAction {
    /// The result stays as it is.
    Allow,
    /// Each match is replaced by `[redacted: NAME]`.
    Redact,
    /// The model gets an error in place of the result.
    Block,
}
