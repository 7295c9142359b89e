//! Conditions on the arguments of a call.

mod embedded;
mod number;
mod pointer;
mod test;

#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_model::JsonObject;

use crate::{Place, PolicyError, capabilities::present};

use pointer::Pointer;
use test::Test;

/// The most conditions of one rule.
pub const MAX_CONDITIONS: usize = 32;

/// The most regular expressions of a policy.
pub const MAX_REGEXES: usize = 256;

/// The most bytes of a regular expression.
pub const MAX_REGEX_BYTES: usize = 4096;

/// The most bytes that a regular expression may take once it is compiled.
pub const MAX_COMPILED_REGEX_BYTES: usize = 1024 * 1024;

/// How deep a condition looks into arguments. What lies deeper fulfils every condition of a `deny` or `approve` and none
/// of a `grant`.
pub(crate) const MAX_DEPTH: usize = 128;

/// A condition on one of the arguments: `path` and exactly one of `equals`, `in` and `matches`.
///
/// The path is a JSON Pointer into the arguments: `/path`, `/options/force`, `/items/0/name`. A `*` in it stands for
/// every member of an array or an object. A value that is not there fulfils no condition.
///
/// A rule that takes something away is read widely and one that gives something narrowly, so that neither is dodged by
/// saying the same thing in another shape:
///
/// | | `deny`, `approve` | `grant` |
/// |---|---|---|
/// | `*` | any member fulfils it | there are members, and each fulfils it |
/// | an array or object where the path leads | anything in it fulfils it, keys too | `equals` and `in` compare it as a whole |
/// | an array on the way | each item is looked into | only by `*` or a number |
/// | JSON in a text | is looked into, as far as Python reads it; what begins like JSON and is none fulfils a path into it | is a text |
/// | names of arguments | also in other case, and with invisible characters in them | exactly, and no other name may differ only in that |
/// | `equals`, `in` | also the same text as a value of another type: `22` and `"22"` | the same value; `1` and `1.0` are the same |
/// | `matches` | anywhere in the text; numbers and booleans by their text | the whole text; only texts |
///
/// Regular expressions are those of the [`regex`] crate, which takes time linear in the text.
///
/// ```
/// # use serde_json::json;
/// # use toolcrib_policy::Capabilities;
/// let capabilities: Capabilities = serde_json::from_value(json!({
///     "deny": [{"module": "shell", "arguments": [{"path": "/command", "matches": r"\bsudo\b"}]}],
///     "grant": [{"module": "files", "actions": ["write"], "arguments": [
///         {"path": "/path", "matches": "notes/[a-z]+\\.md"},
///         {"path": "/mode", "in": ["append", "create"]},
///     ]}],
/// }))?;
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// Where the value stands.
    pub path: String,
    /// The value is this one; may be `null`.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub equals: Option<Value>,
    /// The value is one of these.
    #[serde(rename = "in", default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub one_of: Option<Vec<Value>>,
    /// The value is a text that this regular expression matches.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub matches: Option<String>,
}

/// How a condition is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// Of a rule that takes something away: in doubt it holds.
    Wide,
    /// Of a rule that gives something: in doubt it does not.
    Narrow,
}

/// A condition, ready to be tried.
#[derive(Debug)]
pub(crate) struct CompiledCondition {
    pointer: Pointer,
    test: Test,
    reading: Reading,
}

impl CompiledCondition {
    pub(crate) fn new(place: &Place, condition: &Condition, reading: Reading) -> Result<Self, PolicyError> {
        let wrong = |place: Place, problem: String| PolicyError::Condition { place, problem };
        let pointer = Pointer::parse(&condition.path).map_err(|problem| wrong(place.key("path"), problem))?;
        let test = match condition {
            Condition { equals: Some(value), one_of: None, matches: None, .. } => {
                Test::OneOf(vec![value.clone()])
            }
            Condition { equals: None, one_of: Some(values), matches: None, .. } => {
                if values.is_empty() {
                    let problem = "an empty list is fulfilled by nothing; name the values".to_owned();
                    return Err(wrong(place.key("in"), problem));
                }
                Test::OneOf(values.clone())
            }
            Condition { equals: None, one_of: None, matches: Some(pattern), .. } => {
                test::regex(&place.key("matches"), pattern, reading)?
            }
            _ => {
                let problem = "a condition has exactly one of `equals`, `in` and `matches`; write several \
                               conditions, which must all hold"
                    .to_owned();
                return Err(wrong(place.clone(), problem));
            }
        };
        Ok(Self { pointer, test, reading })
    }

    /// Whether the arguments fulfil it.
    pub(crate) fn holds(&self, arguments: &JsonObject) -> bool {
        match self.reading {
            Reading::Wide => self.pointer.any(arguments, &|value, depth| self.test.anywhere_in(value, depth)),
            Reading::Narrow => self.pointer.every(arguments, &|value| self.test.is_fulfilled_by(value)),
        }
    }
}
