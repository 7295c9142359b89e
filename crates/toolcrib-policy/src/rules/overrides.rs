//! Overrides: changes by an operator while the app runs.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};
use toolcrib_model::Tool;

use crate::{Decision, Effect, RUNTIME_NAMESPACE};

/// The changes of an operator to what callers may use. They only restrict: enabling a target lifts an
/// earlier disabling, and grants nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Overrides {
    /// The profile that limits the clients whom no other profile limits.
    pub profile: Option<String>,
    /// The targets, each with `true` if it is enabled. The override of a tool takes precedence over those of its
    /// namespace and its source.
    pub targets: BTreeMap<OverrideTarget, bool>,
}

/// The tools that an override is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OverrideTarget {
    /// A tool, as `namespace.name`.
    Tool(String),
    /// A namespace.
    Namespace(String),
    /// A source.
    Source(String),
}

/// The error for a text that is not an [`OverrideTarget`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Expected `tool:`, `namespace:` or `source:` with a name, found `{0}`")]
pub struct ParseOverrideTargetError(String);

impl Overrides {
    /// Returns the target whose override disables a tool. A shaped tool is disabled by its own name only; its originals
    /// are disabled by theirs.
    pub fn disabled(&self, tool: &Tool) -> Option<OverrideTarget> {
        if self.targets.is_empty() || tool.name.namespace() == RUNTIME_NAMESPACE {
            return None;
        }
        let name = OverrideTarget::Tool(tool.name.dotted());
        if let Some(is_enabled) = self.targets.get(&name) {
            return (!is_enabled).then_some(name);
        }
        let namespace = OverrideTarget::Namespace(tool.name.namespace().to_owned());
        let source = tool.source().filter(|_| tool.view().is_none());
        let source = source.map(|source| OverrideTarget::Source(source.to_owned()));
        [Some(namespace), source]
            .into_iter()
            .flatten()
            .find(|target| self.targets.get(target) == Some(&false))
    }

    /// Returns true if all tools of a source are disabled with it. The namespace is the one that only this source may use.
    pub fn disables_source(&self, source: &str, namespace: Option<&str>) -> bool {
        let is_off = |target: OverrideTarget| self.targets.get(&target) == Some(&false);
        let is_own = |tool: &str| tool.split_once('.').is_some_and(|(of_tool, _)| Some(of_tool) == namespace);
        let is_exception = |(target, is_enabled): (&OverrideTarget, &bool)| {
            *is_enabled && matches!(target, OverrideTarget::Tool(tool) if is_own(tool))
        };
        (is_off(OverrideTarget::Source(source.to_owned()))
            || namespace.is_some_and(|name| is_off(OverrideTarget::Namespace(name.to_owned()))))
            && !self.targets.iter().any(is_exception)
    }

    /// Returns the denial of a tool that is disabled.
    pub(crate) fn denial(&self, tool: &Tool) -> Option<Decision> {
        let target = self.disabled(tool)?;
        Some(Decision::new(Effect::Deny, &format!("override: {target} is disabled").into()))
    }
}

/// As `tool github.search`.
impl fmt::Display for OverrideTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, name) = self.parts();
        write!(f, "{kind} `{name}`")
    }
}

impl OverrideTarget {
    fn parts(&self) -> (&'static str, &str) {
        match self {
            Self::Tool(name) => ("tool", name),
            Self::Namespace(name) => ("namespace", name),
            Self::Source(name) => ("source", name),
        }
    }

    /// Returns the target as `tool:github.search`, which [`FromStr`] reads.
    pub fn id(&self) -> String {
        let (kind, name) = self.parts();
        format!("{kind}:{name}")
    }
}

impl Serialize for OverrideTarget {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.id())
    }
}

impl FromStr for OverrideTarget {
    type Err = ParseOverrideTargetError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once(':') {
            Some(("tool", name)) => Ok(Self::Tool(name.to_owned())),
            Some(("namespace", name)) => Ok(Self::Namespace(name.to_owned())),
            Some(("source", name)) => Ok(Self::Source(name.to_owned())),
            _ => Err(ParseOverrideTargetError(text.to_owned())),
        }
    }
}
