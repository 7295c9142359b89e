//! The settings of hooks.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_model::Risk;

/// The default time limit of one run of a hook, in seconds.
pub const DEFAULT_TIMEOUT_SECONDS: u32 = 10;

/// The moment at which a hook runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum HookPhase {
    /// Before a call, after the rules and before any question to a person.
    Before,
    /// After a call, before its result is shortened.
    After,
}

/// The effect of a hook that fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum FailurePolicy {
    /// The call does not run, or its result is withheld.
    #[default]
    Closed,
    /// The call continues unchecked. A warning is logged, and the audit record names the hook.
    Open,
}

/// An entry of `hooks`: a program or a webhook that checks calls or results.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct HookSettings {
    /// The name in errors, audit records, and questions to a person: letters, digits, `-` and `_`.
    pub name: String,
    /// `before` a call, to allow or deny it, to ask a person, or to change its arguments; or `after` it, to keep,
    /// change, redact or block its result.
    pub when: HookPhase,
    /// The tools, as `namespace.name` or globs of such names (`*` matches any text). By default all. A shaped tool is
    /// also meant by the name of its original.
    #[serde(default)]
    pub tools: Vec<String>,
    /// The lowest risk of the tools. By default any.
    #[serde(default)]
    pub min_risk_level: Option<Risk>,
    /// The program and its arguments, started without a shell in the folder of the app file.
    #[serde(default)]
    pub run: Vec<String>,
    /// Environment variables of the program, in addition to the few that each program gets.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// The URL that the call is posted to, in place of `run`.
    #[serde(default)]
    pub url: Option<String>,
    /// Headers of the request.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The secret that signs the request according to Standard Webhooks, as `${NAME}`. By default it is not signed.
    #[serde(default)]
    pub secret: Option<String>,
    /// True if the address may be private. By default only if the URL names a private address.
    #[serde(default)]
    pub allow_private: Option<bool>,
    /// The time limit of one run, in seconds, up to 60. The default is 10.
    #[serde(default)]
    pub timeout_seconds: Option<NonZeroU32>,
    /// The effect of a hook that fails, times out, or returns no verdict.
    #[serde(default)]
    pub on_failure: FailurePolicy,
}

/// Omits the values of variables, headers and the secret.
impl fmt::Debug for HookSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HookSettings")
            .field("name", &self.name)
            .field("when", &self.when)
            .finish_non_exhaustive()
    }
}
