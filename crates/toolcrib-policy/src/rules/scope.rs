//! Restriction of sessions to a scope.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use toolcrib_model::{Risk, Tool};

use crate::present_value::present;
use crate::rules::pattern::Pattern;
use crate::{Decision, Effect, PolicyError, Principal, RUNTIME_NAMESPACE, SettingLocation};

/// The tools that a caller may use. Other tools are denied and therefore invisible. The runtime's own tools are not
/// restricted, since they reach others only through the gate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scope {
    /// The namespaces; all when absent. Globs.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub namespaces: Option<Vec<String>>,
    /// The highest risk; any when absent.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub max_risk_level: Option<Risk>,
}

/// The scopes of a policy, and the sessions that need one.
#[derive(Debug, Default)]
pub(crate) struct Scopes {
    limits: Vec<CompiledScope>,
    /// Beginnings of the names of sessions that are known and have no limits.
    known: Vec<String>,
    /// Beginnings of the names of sessions that have to be known, each with the denial of those that are not.
    strict: Vec<(String, Decision)>,
}

impl Scopes {
    pub(crate) fn limit(&mut self, scope: CompiledScope) {
        self.limits.push(scope);
    }

    pub(crate) fn exempt(&mut self, sessions: &str) {
        self.known.push(sessions.to_owned());
    }

    pub(crate) fn deny_unknown(&mut self, sessions: &str, place: &str) {
        self.strict.push((sessions.to_owned(), Decision::new(Effect::Deny, &place.into())));
    }

    /// Returns the denial of a tool to a caller who is unknown, or whose scope leaves the tool out.
    pub(crate) fn denial(&self, tool: &Tool, principal: Principal<'_>) -> Option<Decision> {
        let unknown = self.unknown(principal).cloned();
        unknown.or_else(|| self.limits.iter().find_map(|scope| scope.denial(tool, principal)))
    }

    /// Returns the denial of everything to a caller whose session has to be known and is not.
    pub(crate) fn unknown(&self, principal: Principal<'_>) -> Option<&Decision> {
        let (_, denial) = self.strict.iter().find(|(sessions, _)| principal.session.starts_with(sessions))?;
        let mut known = self.limits.iter().map(|scope| &scope.sessions).chain(&self.known);
        if known.any(|sessions| principal.session.starts_with(sessions)) { None } else { Some(denial) }
    }
}

/// A scope, ready to be tried.
#[derive(Debug)]
pub(crate) struct CompiledScope {
    /// The prefix of the names of the sessions.
    sessions: String,
    namespaces: Option<Vec<Pattern>>,
    max_risk: Option<Risk>,
    denial: Decision,
}

impl CompiledScope {
    pub(crate) fn new(sessions: &str, scope: &Scope, place: &SettingLocation) -> Result<Self, PolicyError> {
        let namespaces = scope.namespaces.as_deref();
        let rule: Arc<str> = place.rule();
        Ok(Self {
            sessions: sessions.to_owned(),
            namespaces: namespaces.map(|list| Pattern::list(&place.key("namespaces"), list)).transpose()?,
            max_risk: scope.max_risk_level,
            denial: Decision::new(Effect::Deny, &rule),
        })
    }

    /// Returns the denial of a tool that lies outside, to a caller whom it limits.
    pub(crate) fn denial(&self, tool: &Tool, principal: Principal<'_>) -> Option<Decision> {
        if !principal.session.starts_with(&self.sessions) || tool.name.namespace() == RUNTIME_NAMESPACE {
            return None;
        }
        let is_left = |patterns: &Vec<Pattern>| patterns.iter().any(|one| one.fits(tool.name.namespace()));
        let is_inside = self.namespaces.as_ref().is_none_or(is_left)
            && self.max_risk.is_none_or(|max| tool.traits().risk <= max);
        (!is_inside).then(|| self.denial.clone())
    }
}
