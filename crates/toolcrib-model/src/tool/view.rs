//! Views of tools: another name, description, and argument schema of one tool, or of several that can stand in for each
//! other.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use crate::{JsonObject, Tool};

/// The prefix of the attributes of a caller that an embedder sets.
const SCOPE_PREFIX: &str = "scope.";

/// The tools that a view shows, in the order of preference; at least one.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// The setting that defines the view, such as `tools.shape[0]`.
    pub place: Arc<str>,
    /// The original tools.
    pub originals: Vec<Original>,
    /// The expression for the results, `JSONPath` or jq.
    pub projection: Option<Arc<str>>,
}

/// An original tool of a view, with the mapping of arguments to those of the tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Original {
    /// The original tool.
    pub tool: Arc<Tool>,
    /// The source of the tool.
    pub source: Arc<str>,
    /// The parameters that differ from those of the view.
    pub parameters: Vec<MappedParameter>,
}

/// A parameter of an original tool that its view shows under another name, with another value, or not at all.
#[derive(Clone, Debug, PartialEq)]
pub struct MappedParameter {
    /// The name in the original tool.
    pub name: String,
    /// The name in the view; `None` if the view hides the parameter.
    pub shown: Option<String>,
    /// The value that the view adds.
    pub value: Option<AddedValue>,
}

/// A value that a view adds to a call.
#[derive(Clone, Debug, PartialEq)]
pub struct AddedValue {
    /// The origin of the value.
    pub origin: ValueOrigin,
    /// True if the value also replaces one that the call has.
    pub is_fixed: bool,
}

/// The origin of a value that a view adds to a call.
#[derive(Clone, Debug, PartialEq)]
pub enum ValueOrigin {
    /// A value of the settings.
    Setting(Value),
    /// An attribute of the caller.
    Caller(CallerAttribute),
}

/// An attribute of a caller, which no argument of a call sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallerAttribute {
    /// The user on whose behalf the call is made.
    User,
    /// The session.
    Session,
    /// The agent.
    Agent,
    /// A value of the [`CallScope`](crate::CallScope), by its key.
    Scope(String),
}

/// The error for a caller without an attribute that a view needs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the caller has no `{attribute}`, which is the value of `{parameter}`")]
pub struct MissingAttribute {
    /// The attribute.
    pub attribute: CallerAttribute,
    /// The parameter of the original tool.
    pub parameter: String,
}

impl View {
    /// Returns the names of the original tools, as `namespace.name`.
    pub fn original_names(&self) -> impl Iterator<Item = String> {
        self.originals.iter().map(|original| original.tool.name.dotted())
    }
}

impl Original {
    /// Returns the arguments of the original tool for a call of the view. `attribute` returns an attribute of the
    /// caller.
    ///
    /// A value under the name of a parameter that the view hides or renames never reaches the original tool.
    ///
    /// # Errors
    ///
    /// Returns an error if the caller lacks an attribute that is the value of a parameter.
    pub fn arguments(
        &self,
        shown: &JsonObject,
        attribute: impl Fn(&CallerAttribute) -> Option<String>,
    ) -> Result<JsonObject, MissingAttribute> {
        let mut arguments = JsonObject::new();
        for (name, value) in shown {
            let renamed =
                self.parameters.iter().find(|parameter| parameter.shown.as_deref() == Some(name.as_str()));
            if let Some(parameter) = renamed {
                arguments.insert(parameter.name.clone(), value.clone());
            } else if self.parameters.iter().all(|parameter| parameter.name != *name) {
                arguments.insert(name.clone(), value.clone());
            }
        }
        for MappedParameter { name, value, .. } in &self.parameters {
            let Some(AddedValue { origin, is_fixed }) = value else { continue };
            if !is_fixed && arguments.contains_key(name) {
                continue;
            }
            let value = match origin {
                ValueOrigin::Setting(value) => value.clone(),
                ValueOrigin::Caller(wanted) => {
                    let missing = || MissingAttribute { attribute: wanted.clone(), parameter: name.clone() };
                    attribute(wanted).ok_or_else(missing)?.into()
                }
            };
            arguments.insert(name.clone(), value);
        }
        Ok(arguments)
    }
}

impl fmt::Display for CallerAttribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User => f.write_str("user"),
            Self::Session => f.write_str("session"),
            Self::Agent => f.write_str("agent"),
            Self::Scope(key) => write!(f, "{SCOPE_PREFIX}{key}"),
        }
    }
}

impl CallerAttribute {
    /// Parses `user`, `session`, `agent`, or `scope.KEY`.
    ///
    /// # Errors
    ///
    /// Returns an error for any other text.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text {
            "user" => Ok(Self::User),
            "session" => Ok(Self::Session),
            "agent" => Ok(Self::Agent),
            _ => match text.strip_prefix(SCOPE_PREFIX).filter(|key| !key.is_empty()) {
                Some(key) => Ok(Self::Scope(key.to_owned())),
                None => Err(format!(
                    "expected `user`, `session`, `agent`, or `{SCOPE_PREFIX}KEY`, found `{text}`"
                )),
            },
        }
    }
}
