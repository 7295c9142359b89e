//! What the rules say of one tool, worked out once.

use std::sync::Arc;

use serde_json::Value;
use toolcrib_model::{Risk, Tool};

use crate::policy::{RUNTIME_NAMESPACE, Reserved};
use crate::rule::CompiledRule;
use crate::weigh::Names;
use crate::{Decision, Principal};

/// What the gate wants to know of a tool, besides its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Facts {
    pub(crate) risk: Risk,
    pub(crate) confirmation_required: bool,
    /// Whether the tool is there only where a rule speaks of it.
    pub(crate) exposed_when_granted: bool,
    pub(crate) is_of_runtime: bool,
}

/// What the rules say of tools with one name and the same facts.
#[derive(Debug)]
pub(crate) struct Profile {
    pub(crate) facts: Facts,
    /// Which constraints leave it out.
    pub(crate) blocked: Option<Arc<str>>,
    pub(crate) is_too_risky: bool,
    /// The rules that may speak of its calls, in the order of precedence.
    pub(crate) rules: Vec<Arc<CompiledRule>>,
    /// Who alone may call it.
    pub(crate) reserved: Option<Reserved>,
    /// What is decided, where that depends on neither caller nor arguments.
    pub(crate) settled: Option<Decision>,
}

impl Facts {
    pub(crate) fn of(tool: &Tool) -> Self {
        let exposed = tool.metadata.get("exposed_when_granted").and_then(Value::as_bool);
        Self {
            risk: tool.risk(),
            // What is neither yes nor no was meant as a yes: `yes` is a text in YAML.
            confirmation_required: !matches!(
                tool.metadata.get("confirmation_required"),
                None | Some(Value::Null | Value::Bool(false))
            ),
            exposed_when_granted: exposed == Some(true),
            is_of_runtime: tool.name.namespace() == RUNTIME_NAMESPACE,
        }
    }
}

impl Profile {
    pub(crate) fn new(
        facts: Facts,
        blocked: Option<Arc<str>>,
        is_too_risky: bool,
        rules: Vec<Arc<CompiledRule>>,
        reserved: Option<Reserved>,
        names: &Names,
    ) -> Self {
        let mut profile = Self { facts, blocked, is_too_risky, rules, reserved, settled: None };
        let is_plain = profile.reserved.is_none() && profile.rules.iter().all(|rule| rule.is_plain());
        if profile.blocked.is_some() || is_plain {
            profile.settled = Some(profile.weigh(names, Principal::new(""), None));
        }
        profile
    }
}
