//! One rule, ready to be tried.

use std::sync::Arc;

use toolcrib_model::{QualifiedName, Risk};

use crate::condition::{Arguments, CompiledCondition, MAX_CONDITIONS, Reading};
use crate::rules::pattern::Pattern;
use crate::{Constraints, Effect, PolicyError, Principal, Rule, SettingLocation};

/// The match of a rule with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    Yes,
    /// That depends on arguments which are not known.
    Perhaps,
    No,
}

/// The known arguments of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum KnownArguments<'a> {
    None,
    /// All but the argument of this name.
    AllBut(Arguments<'a>, &'a str),
    All(Arguments<'a>),
}

#[derive(Debug)]
pub(crate) struct CompiledRule {
    pub(crate) place: Arc<str>,
    pub(crate) effect: Effect,
    /// True if the rule names individual tools rather than a module or a pattern.
    pub(crate) is_by_name: bool,
    module: Option<Pattern>,
    actions: Option<Vec<Pattern>>,
    risk: Option<Risk>,
    agent: Option<Pattern>,
    session: Option<Pattern>,
    conditions: Vec<CompiledCondition>,
    /// The arguments that the conditions are about, as they are told.
    pub(crate) arguments: Option<Arc<str>>,
}

impl CompiledRule {
    pub(crate) fn new(place: &SettingLocation, effect: Effect, rule: &Rule) -> Result<Self, PolicyError> {
        if rule.module.is_none() && rule.actions.is_none() && rule.risk.is_none() {
            return Err(PolicyError::EmptyRule { place: place.clone() });
        }
        let pattern = |key: &str, pattern: &Option<String>| {
            pattern.as_deref().map(|pattern| Pattern::new(&place.key(key), pattern)).transpose()
        };
        let module = pattern("module", &rule.module)?;
        let actions = rule.actions.as_deref();
        if actions.is_some_and(<[String]>::is_empty) {
            // A denial whose list came out empty by mistake would deny nothing.
            let problem = "there is no action in it; leave `actions` out to speak of all".to_owned();
            return Err(PolicyError::Condition { place: place.key("actions"), problem });
        }
        let actions = actions.map(|actions| Pattern::list(&place.key("actions"), actions)).transpose()?;
        let is_by_name = module.as_ref().is_some_and(Pattern::is_name)
            && actions.as_ref().is_some_and(|actions| actions.iter().all(Pattern::is_name));
        Ok(Self {
            place: place.rule(),
            effect,
            is_by_name,
            module,
            actions,
            risk: rule.risk,
            agent: pattern("agent", &rule.agent)?,
            session: pattern("session", &rule.session)?,
            conditions: conditions(&place.key("arguments"), effect, rule)?,
            arguments: names(rule),
        })
    }

    /// Returns a rule that grants one tool by its name.
    pub(crate) fn granting(tool: &QualifiedName, place: &str) -> Self {
        Self {
            place: place.into(),
            effect: Effect::Grant,
            is_by_name: true,
            module: Some(Pattern::Name(tool.namespace().to_owned())),
            actions: Some(vec![Pattern::Name(tool.name().to_owned())]),
            risk: None,
            agent: None,
            session: None,
            conditions: Vec::new(),
            arguments: None,
        }
    }

    /// Returns true if the rule may match calls of a tool with this name.
    pub(crate) fn may_match(&self, namespace: &str, name: &str, risk: Risk) -> bool {
        self.module.as_ref().is_none_or(|module| module.fits(namespace))
            && self.actions.as_ref().is_none_or(|actions| any_fits(actions, name))
            && self.risk.is_none_or(|own| own == risk)
    }

    /// Returns true if the rule matches every caller and all arguments.
    pub(crate) fn is_plain(&self) -> bool {
        self.agent.is_none() && self.session.is_none() && self.conditions.is_empty()
    }

    /// Returns the match with a call of a tool that the rule may match.
    pub(crate) fn fit(&self, principal: Principal<'_>, arguments: KnownArguments<'_>) -> Fit {
        let is_of_agent = |agent: &Pattern| principal.agent.is_some_and(|name| agent.fits(name));
        if !self.agent.as_ref().is_none_or(is_of_agent)
            || !self.session.as_ref().is_none_or(|session| session.fits(principal.session))
        {
            return Fit::No;
        }
        match arguments {
            _ if self.conditions.is_empty() => Fit::Yes,
            KnownArguments::None => Fit::Perhaps,
            KnownArguments::AllBut(arguments, unknown) => {
                let (open, decided): (Vec<_>, Vec<_>) =
                    self.conditions.iter().partition(|condition| condition.may_depend_on(unknown));
                match (decided.iter().all(|condition| condition.holds(arguments)), open.is_empty()) {
                    (false, _) => Fit::No,
                    (true, true) => Fit::Yes,
                    (true, false) => Fit::Perhaps,
                }
            }
            KnownArguments::All(arguments) => {
                let holds = self.conditions.iter().all(|condition| condition.holds(arguments));
                if holds { Fit::Yes } else { Fit::No }
            }
        }
    }
}

/// Returns the arguments that the conditions of a rule are about.
fn names(rule: &Rule) -> Option<Arc<str>> {
    let conditions = rule.arguments.as_deref().filter(|conditions| !conditions.is_empty())?;
    let name = |path: &str| format!("`{}`", path.trim_start_matches('/'));
    let names: Vec<_> = conditions.iter().map(|condition| name(&condition.path)).collect();
    Some(names.join(", ").into())
}

fn conditions(
    place: &SettingLocation,
    effect: Effect,
    rule: &Rule,
) -> Result<Vec<CompiledCondition>, PolicyError> {
    let Some(conditions) = rule.arguments.as_deref() else { return Ok(Vec::new()) };
    if conditions.is_empty() {
        // A list that came out empty by mistake would make the rule one of all arguments.
        let problem = "there is no condition in it; leave `arguments` out to speak of all".to_owned();
        return Err(PolicyError::Condition { place: place.clone(), problem });
    }
    if conditions.len() > MAX_CONDITIONS {
        let (what, count, limit) = ("conditions", conditions.len(), MAX_CONDITIONS);
        return Err(PolicyError::TooMany { place: place.clone(), what, count, limit });
    }
    let reading = if effect == Effect::Grant { Reading::Narrow } else { Reading::Wide };
    let compiled = conditions.iter().enumerate();
    compiled.map(|(at, condition)| CompiledCondition::new(&place.at(at), condition, reading)).collect()
}

/// The actions of a module that exist.
#[derive(Debug)]
pub(crate) struct CompiledConstraints {
    pub(crate) place: Arc<str>,
    allowed: Option<Vec<Pattern>>,
    blocked: Vec<Pattern>,
}

impl CompiledConstraints {
    pub(crate) fn new(place: &SettingLocation, constraints: &Constraints) -> Result<Self, PolicyError> {
        let allowed = constraints.allowed_actions.as_deref();
        Ok(Self {
            place: place.rule(),
            allowed: allowed.map(|list| Pattern::list(&place.key("allowed_actions"), list)).transpose()?,
            blocked: Pattern::list(&place.key("blocked_actions"), &constraints.blocked_actions)?,
        })
    }

    pub(crate) fn allow(&self, action: &str) -> bool {
        self.allowed.as_ref().is_none_or(|allowed| any_fits(allowed, action)) && !self.block(action)
    }

    pub(crate) fn block(&self, action: &str) -> bool {
        any_fits(&self.blocked, action)
    }
}

fn any_fits(patterns: &[Pattern], name: &str) -> bool {
    patterns.iter().any(|pattern| pattern.fits(name))
}
