//! Restriction of sessions to a scope.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use toolcrib_model::{Risk, Tool};

use crate::present_value::present;
use crate::rules::pattern::Pattern;
use crate::rules::profiles::Profiles;
use crate::{Decision, Effect, PolicyError, Principal, RUNTIME_NAMESPACE, SettingLocation};

/// The tools that a caller may use: those that at least one of the lists selects, or all tools if every list is absent.
/// Other tools are denied and therefore invisible. The runtime's own tools are not restricted, since they reach others
/// only through the gate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scope {
    /// The tools, as `namespace.name`. Globs.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// The namespaces. Globs.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub namespaces: Option<Vec<String>>,
    /// The sources. Globs. They select a shaped tool if they select the sources of all of its original tools.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub sources: Option<Vec<String>>,
    /// The highest risk; any when absent.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub max_risk_level: Option<Risk>,
}

/// The scopes of a policy, and the sessions that need one.
#[derive(Debug, Default)]
pub(crate) struct Scopes {
    /// Beginnings of the names of sessions, each with the scope that limits them.
    limits: Vec<(String, CompiledScope)>,
    /// Beginnings of the names of sessions that are known and have no limits.
    known: Vec<String>,
    /// Beginnings of the names of sessions that have to be known, each with the denial of those that are not.
    strict: Vec<(String, Decision)>,
    pub(crate) profiles: Profiles,
}

impl Scopes {
    pub(crate) fn limit(&mut self, sessions: &str, scope: CompiledScope) {
        self.limits.push((sessions.to_owned(), scope));
    }

    pub(crate) fn exempt(&mut self, sessions: &str) {
        self.known.push(sessions.to_owned());
    }

    pub(crate) fn deny_unknown(&mut self, sessions: &str, place: &str) {
        self.strict.push((sessions.to_owned(), Decision::new(Effect::Deny, &place.into())));
    }

    /// Returns the denial of a tool to a caller who is unknown, or whose scope or profile leaves the tool out.
    pub(crate) fn denial(&self, tool: &Tool, principal: Principal<'_>) -> Option<Decision> {
        let limits = || self.limits.iter().filter(|(sessions, _)| principal.session.starts_with(sessions));
        self.unknown(principal)
            .cloned()
            .or_else(|| limits().find_map(|(_, scope)| scope.denial(tool)))
            .or_else(|| self.profiles.of(principal.session).find_map(|profile| profile.scope.denial(tool)))
    }

    /// Returns the denial of everything to a caller whose client or profile has to be known and is not.
    pub(crate) fn unknown<'a>(&'a self, principal: Principal<'a>) -> Option<&'a Decision> {
        let session = principal.session;
        let is_known = || {
            let mut known = self.limits.iter().map(|(sessions, _)| sessions).chain(&self.known);
            known.any(|sessions| session.starts_with(sessions))
        };
        let strict = self.strict.iter().find(|(sessions, _)| session.starts_with(sessions));
        let denial = strict.filter(|_| !is_known()).map(|(_, denial)| denial);
        denial.or_else(|| self.profiles.unknown(session))
    }
}

/// A scope, ready to be tried.
#[derive(Debug)]
pub(crate) struct CompiledScope {
    /// False if every list is absent.
    is_limited: bool,
    selectors: Vec<Selector>,
    max_risk: Option<Risk>,
    denial: Decision,
}

/// A pattern of a list of a scope, with its location.
#[derive(Debug)]
struct Selector {
    place: Arc<str>,
    property: Property,
    pattern: Pattern,
}

/// The property of a tool that a selector is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Property {
    Name,
    Namespace,
    Source,
}

impl CompiledScope {
    pub(crate) fn new(scope: &Scope, place: &SettingLocation) -> Result<Self, PolicyError> {
        let lists = [
            ("tools", Property::Name, &scope.tools),
            ("namespaces", Property::Namespace, &scope.namespaces),
            ("sources", Property::Source, &scope.sources),
        ];
        let mut selectors = Vec::new();
        for (key, property, list) in lists {
            for (position, pattern) in list.iter().flatten().enumerate() {
                let place = place.key(key).at(position);
                let pattern = match property {
                    Property::Name => Pattern::new(&place, &pattern.replacen("::", ".", 1))?,
                    Property::Namespace | Property::Source => Pattern::new(&place, pattern)?,
                };
                selectors.push(Selector { place: place.rule(), property, pattern });
            }
        }
        Ok(Self {
            is_limited: lists.iter().any(|(_, _, list)| list.is_some()),
            selectors,
            max_risk: scope.max_risk_level,
            denial: Decision::new(Effect::Deny, &place.rule()),
        })
    }

    /// Returns the denial of a tool that lies outside.
    pub(crate) fn denial(&self, tool: &Tool) -> Option<Decision> {
        if tool.name.namespace() == RUNTIME_NAMESPACE {
            return None;
        }
        let is_inside = (!self.is_limited || self.selects(tool))
            && self.max_risk.is_none_or(|max| tool.traits().risk <= max);
        (!is_inside).then(|| self.denial.clone())
    }

    fn selects(&self, tool: &Tool) -> bool {
        let selects = |property, text: &str| {
            let mut selectors = self.selectors.iter().filter(|selector| selector.property == property);
            selectors.any(|selector| selector.pattern.fits(text))
        };
        let (name, namespace) = (tool.name.dotted(), tool.name.namespace());
        let mut sources = sources(tool).peekable();
        selects(Property::Name, &name)
            || selects(Property::Namespace, namespace)
            || sources.peek().is_some() && sources.all(|source| selects(Property::Source, source))
    }

    /// Returns the locations of the patterns that select none of these tools.
    pub(crate) fn unused_patterns<'a>(
        &'a self,
        tools: impl Iterator<Item = &'a Tool> + Clone + 'a,
    ) -> impl Iterator<Item = &'a str> {
        let is_unused = move |selector: &&Selector| !tools.clone().any(|tool| selector.fits(tool));
        self.selectors.iter().filter(is_unused).map(|selector| selector.place.as_ref())
    }
}

impl Selector {
    /// Returns true if the pattern fits the tool, or one of the sources of a shaped tool.
    fn fits(&self, tool: &Tool) -> bool {
        match self.property {
            Property::Name => self.pattern.fits(&tool.name.dotted()),
            Property::Namespace => self.pattern.fits(tool.name.namespace()),
            Property::Source => sources(tool).any(|source| self.pattern.fits(source)),
        }
    }
}

/// Returns the source of a tool, or those of the originals of a shaped tool.
fn sources(tool: &Tool) -> impl Iterator<Item = &str> {
    let originals = tool.view().into_iter().flat_map(|view| &view.originals);
    let own = tool.source().filter(|_| tool.view().is_none());
    own.into_iter().chain(originals.map(|original| &*original.source))
}
