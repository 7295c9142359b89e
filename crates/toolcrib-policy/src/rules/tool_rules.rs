//! The rules for one tool, compiled once.

use std::sync::Arc;

use toolcrib_model::{Risk, Tool};

use crate::rules::rule::{CompiledRule, KnownArguments};
use crate::{Decision, Effect, Principal, SettingLocation};

/// The properties of a tool that the gate needs in addition to its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Facts {
    pub(crate) risk: Risk,
    pub(crate) confirmation_required: bool,
    /// True if the tool exists only where a rule matches it.
    pub(crate) exposed_when_granted: bool,
    pub(crate) is_of_runtime: bool,
}

/// The rules for tools with one name and the same facts.
#[derive(Debug)]
pub(crate) struct ToolRules {
    pub(crate) facts: Facts,
    /// The constraints that exclude the tool.
    pub(crate) blocked: Option<Arc<str>>,
    pub(crate) is_too_risky: bool,
    /// The rules that may speak of its calls, in the order of precedence.
    pub(crate) rules: Vec<Arc<CompiledRule>>,
    /// The agents that the tool is reserved for.
    pub(crate) reserved: Option<Reserved>,
    /// The decision, if it depends on neither the caller nor the arguments.
    pub(crate) settled: Option<Decision>,
}

/// The names of the settings that decide if no rule matches.
#[derive(Debug)]
pub(crate) struct RuleNames {
    pub(super) default: Decision,
    pub(super) runtime: Decision,
    pub(super) not_exposed: Decision,
    pub(super) max_risk: Decision,
    pub(super) confirmation: Decision,
    pub(super) high_risk: Decision,
}

impl RuleNames {
    pub(crate) fn new(default: Effect, place: &SettingLocation) -> Self {
        let decision = |effect, name: &str| Decision::new(effect, &name.into());
        Self {
            default: decision(default, &place.key("default_policy").to_string()),
            runtime: decision(Effect::Grant, "runtime"),
            not_exposed: decision(Effect::Deny, "exposed_when_granted"),
            max_risk: decision(Effect::Deny, &place.key("max_risk_level").to_string()),
            confirmation: decision(Effect::Approve, "confirmation_required"),
            high_risk: decision(Effect::Approve, "high risk"),
        }
    }
}

/// The agents that a tool is reserved for, and the location of the setting.
#[derive(Clone, Debug)]
pub(crate) struct Reserved {
    pub(crate) agents: Arc<[String]>,
    pub(crate) place: Arc<str>,
}

impl Reserved {
    pub(crate) fn denial(&self, principal: Principal<'_>) -> Option<Decision> {
        let is_one = principal.agent.is_some_and(|name| self.agents.iter().any(|agent| agent == name));
        (!is_one).then(|| Decision::new(Effect::Deny, &self.place))
    }
}

impl Facts {
    pub(crate) fn of(tool: &Tool) -> Self {
        let traits = tool.traits();
        Self {
            risk: traits.risk,
            confirmation_required: traits.confirmation_required,
            exposed_when_granted: traits.exposed_when_granted,
            is_of_runtime: tool.name.is_of_runtime(),
        }
    }
}

impl ToolRules {
    pub(crate) fn new(
        facts: Facts,
        blocked: Option<Arc<str>>,
        is_too_risky: bool,
        rules: Vec<Arc<CompiledRule>>,
        reserved: Option<Reserved>,
        names: &RuleNames,
    ) -> Self {
        let mut this = Self { facts, blocked, is_too_risky, rules, reserved, settled: None };
        let is_plain = this.reserved.is_none() && this.rules.iter().all(|rule| rule.is_plain());
        if this.blocked.is_some() || is_plain {
            this.settled = Some(this.evaluate(names, Principal::new(""), KnownArguments::None));
        }
        this
    }
}
