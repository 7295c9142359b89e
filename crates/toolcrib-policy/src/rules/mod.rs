//! Rules: patterns, scopes, and the fit of a call.

pub(crate) mod approval_rule;
pub(crate) mod evaluate;
pub(crate) mod glob;
pub(crate) mod overrides;
pub(crate) mod pattern;
pub(crate) mod profiles;
pub(crate) mod rule;
pub(crate) mod scope;
pub(crate) mod tool_rules;
