//! The rules, compiled, and the decision.

use std::collections::HashMap;

use globset::{Glob, GlobMatcher, GlobSet, GlobSetBuilder};
use toolcrib_model::{Risk, Tool};

use crate::{Authorized, Call, Capabilities, Constraints, Effect, PendingCall, Rule};

/// The namespace of the runtime's own tools. They only reach other tools through the gate, so they are granted
/// unless a rule names them.
pub const RUNTIME_NAMESPACE: &str = "context_builder";

/// The compiled rules of one principal.
#[derive(Debug)]
pub struct Policy {
    constraints: HashMap<String, CompiledConstraints>,
    rules: Vec<CompiledRule>,
    max_risk: Option<Risk>,
    default: Effect,
}

/// What the policy says of a tool, and which part of it says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// What happens to a call.
    pub effect: Effect,
    /// Where the deciding rule stands, as `tools.capabilities.deny[0]`.
    pub rule: String,
}

/// What becomes of a call with its final arguments.
#[derive(Debug)]
pub enum Verdict {
    /// It may run.
    Granted(Authorized<Call>),
    /// A person has to be asked.
    Ask(Box<PendingCall>),
    /// It may not run.
    Denied(Decision),
}

/// A policy that cannot be compiled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// A rule names nothing.
    #[error("{rule} names neither `module` nor `actions` nor `risk`; `module: \"*\"` speaks of everything")]
    EmptyRule {
        /// Where it stands.
        rule: String,
    },
    /// A pattern is not a glob.
    #[error("{rule}: `{pattern}` is not a valid pattern")]
    Pattern {
        /// Where it stands.
        rule: String,
        /// The pattern as it was given.
        pattern: String,
        /// What is wrong with it.
        #[source]
        source: globset::Error,
    },
}

#[derive(Debug)]
struct CompiledConstraints {
    allowed: Option<GlobSet>,
    blocked: GlobSet,
}

#[derive(Debug)]
struct CompiledRule {
    place: String,
    effect: Effect,
    module: Option<GlobMatcher>,
    actions: Option<GlobSet>,
    risk: Option<Risk>,
    /// Whether the rule names tools one by one, rather than a module or a pattern of them.
    by_name: bool,
}

impl Policy {
    /// Compiles the rules and the constraints of each module.
    pub fn new<'a>(
        capabilities: &Capabilities,
        constraints: impl IntoIterator<Item = (&'a str, &'a Constraints)>,
    ) -> Result<Self, PolicyError> {
        // In the order of precedence, so that the first rule that fits decides.
        let lists = [
            (Effect::Deny, "deny", &capabilities.deny),
            (Effect::Approve, "approve", &capabilities.approve),
            (Effect::Grant, "grant", &capabilities.grant),
        ];
        let mut rules = Vec::new();
        for (effect, list, entries) in lists {
            for (position, rule) in entries.iter().enumerate() {
                let place = format!("tools.capabilities.{list}[{position}]");
                rules.push(CompiledRule::new(place, effect, rule)?);
            }
        }
        let constraints = constraints
            .into_iter()
            .map(|(module, constraints)| {
                Ok((module.to_owned(), CompiledConstraints::new(module, constraints)?))
            })
            .collect::<Result<_, PolicyError>>()?;
        Ok(Self {
            constraints,
            rules,
            max_risk: capabilities.max_risk_level,
            default: capabilities.default_policy,
        })
    }

    /// What happens to calls of this tool, whatever their arguments.
    pub fn decide(&self, tool: &Tool) -> Decision {
        let module = tool.name.namespace();
        if let Some(constraints) = self.constraints.get(module)
            && !constraints.allow(tool.name.name())
        {
            return Decision { effect: Effect::Deny, rule: format!("modules.{module}.constraints") };
        }
        let decided = self.rules.iter().find(|rule| rule.fits(tool));
        if let Some(rule) = decided.filter(|rule| rule.effect == Effect::Deny) {
            return rule.decision();
        }
        if self.max_risk.is_some_and(|max| tool.risk() > max) {
            return Decision { effect: Effect::Deny, rule: "tools.capabilities.max_risk_level".into() };
        }
        // The first grant that fits may be a wider one, and a narrower one stand behind it.
        let granted_by_name =
            || self.rules.iter().any(|rule| rule.effect == Effect::Grant && rule.by_name && rule.fits(tool));
        let decision = match decided {
            Some(rule) => rule.decision(),
            None if module == RUNTIME_NAMESPACE => Decision { effect: Effect::Grant, rule: "runtime".into() },
            None => Decision { effect: self.default, rule: "tools.capabilities.default_policy".into() },
        };
        if decision.effect == Effect::Grant && !granted_by_name() {
            if tool.confirmation_required() {
                return Decision { effect: Effect::Approve, rule: "confirmation_required".into() };
            }
            if tool.risk() == Risk::High {
                return Decision { effect: Effect::Approve, rule: "high risk".into() };
            }
        }
        decision
    }

    /// The rules that speak of none of these tools, which may be misspelt.
    pub fn unused_rules<'a>(
        &self,
        tools: impl Iterator<Item = &'a Tool> + Clone,
    ) -> impl Iterator<Item = &str> {
        let unused = move |rule: &&CompiledRule| !tools.clone().any(|tool| rule.fits(tool));
        self.rules.iter().filter(unused).map(|rule| rule.place.as_str())
    }

    /// Whether the tool exists for agents at all.
    pub fn is_visible(&self, tool: &Tool) -> bool {
        self.decide(tool).effect != Effect::Deny
    }

    /// What becomes of this call. An approval of it is bound to the session.
    pub fn authorize(&self, call: Call, session: &str) -> Verdict {
        let decision = self.decide(&call.tool);
        match decision.effect {
            Effect::Grant => Verdict::Granted(Authorized::mint(call, decision)),
            Effect::Approve => Verdict::Ask(Box::new(PendingCall::new(call, decision, session))),
            Effect::Deny => Verdict::Denied(decision),
        }
    }
}

impl CompiledConstraints {
    fn new(module: &str, constraints: &Constraints) -> Result<Self, PolicyError> {
        let place = |key| format!("modules.{module}.constraints.{key}");
        Ok(Self {
            allowed: constraints
                .allowed_actions
                .as_deref()
                .map(|patterns| glob_set(&place("allowed_actions"), patterns))
                .transpose()?,
            blocked: glob_set(&place("blocked_actions"), &constraints.blocked_actions)?,
        })
    }

    fn allow(&self, action: &str) -> bool {
        self.allowed.as_ref().is_none_or(|allowed| allowed.is_match(action)) && !self.blocked.is_match(action)
    }
}

impl CompiledRule {
    fn new(place: String, effect: Effect, rule: &Rule) -> Result<Self, PolicyError> {
        if *rule == Rule::default() {
            return Err(PolicyError::EmptyRule { rule: place });
        }
        let module =
            rule.module.as_deref().map(|pattern| Ok(glob(&place, pattern)?.compile_matcher())).transpose()?;
        let actions = rule.actions.as_deref().map(|patterns| glob_set(&place, patterns)).transpose()?;
        let is_literal = |pattern: &String| !pattern.contains(['*', '?', '[', '{']);
        let by_name = rule.module.as_ref().is_some_and(is_literal)
            && rule.actions.as_ref().is_some_and(|actions| actions.iter().all(is_literal));
        Ok(Self { place, effect, module, actions, risk: rule.risk, by_name })
    }

    fn fits(&self, tool: &Tool) -> bool {
        self.module.as_ref().is_none_or(|module| module.is_match(tool.name.namespace()))
            && self.actions.as_ref().is_none_or(|actions| actions.is_match(tool.name.name()))
            && self.risk.is_none_or(|risk| risk == tool.risk())
    }

    fn decision(&self) -> Decision {
        Decision { effect: self.effect, rule: self.place.clone() }
    }
}

fn glob(rule: &str, pattern: &str) -> Result<Glob, PolicyError> {
    Glob::new(pattern).map_err(|source| PolicyError::Pattern {
        rule: rule.into(),
        pattern: pattern.into(),
        source,
    })
}

fn glob_set(rule: &str, patterns: &[String]) -> Result<GlobSet, PolicyError> {
    let mut builder = GlobSetBuilder::new();
    for pattern in patterns {
        builder.add(glob(rule, pattern)?);
    }
    builder.build().map_err(|source| PolicyError::Pattern {
        rule: rule.into(),
        pattern: patterns.join(", "),
        source,
    })
}
