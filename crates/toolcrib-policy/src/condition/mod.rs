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
use toolcrib_model::{JsonObject, Tool};

use crate::present_value::present;
use crate::{PolicyError, SettingLocation};

use pointer::Pointer;
use test::Test;

/// The most conditions of one rule.
pub(crate) const MAX_CONDITIONS: usize = 32;

/// The most regular expressions of a policy.
pub(crate) const MAX_REGEXES: usize = 256;

/// The most bytes of a regular expression.
const MAX_REGEX_BYTES: usize = 4096;

/// The most bytes that a regular expression may take once it is compiled.
const MAX_COMPILED_REGEX_BYTES: usize = 1024 * 1024;

/// The maximum depth that a condition examines. Deeper values satisfy every condition of a `deny` or `approve`, and no
/// condition of a `grant`.
pub(crate) const MAX_DEPTH: usize = 128;

/// A condition on one of the arguments: `path` and exactly one of `equals`, `in` and `matches`.
///
/// The path is a JSON Pointer into the arguments: `/path`, `/options/force`, `/items/0/name`. A `*` in it matches every
/// member of an array or an object. A missing value satisfies no condition.
///
/// A restrictive rule is read broadly and a permissive rule narrowly, so that writing an argument in another form evades
/// neither:
///
/// | | `deny`, `approve` | `grant` |
/// |---|---|---|
/// | `*` | any member satisfies it | there are members, and each satisfies it |
/// | an array or object at the path | anything in it satisfies it, including keys | `equals` and `in` compare it as a whole |
/// | an array on the path | each item is examined | only by `*` or a number |
/// | JSON in a text | is examined if Python can parse it; invalid JSON satisfies any path into it | is a text |
/// | an argument whose members are sent as arguments of their own | also each member, under its own name | as it is given |
/// | names of arguments | regardless of case and invisible characters | exactly, and no other name may differ only in these |
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
    /// The path of the value.
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

/// The interpretation of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// Of a rule that takes something away: in doubt it holds.
    Wide,
    /// Of a rule that gives something: in doubt it does not.
    Narrow,
}

/// The arguments of a call, for conditions of both readings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arguments<'a> {
    narrow: &'a JsonObject,
    /// With the arguments that members of objects are sent as.
    wide: &'a JsonObject,
}

impl<'a> Arguments<'a> {
    /// Returns the arguments of a call of this tool, with `sent` from [`sent`].
    pub(crate) fn new(given: &'a JsonObject, sent: Option<&'a JsonObject>) -> Self {
        Self { narrow: given, wide: sent.unwrap_or(given) }
    }
}

/// Returns the arguments together with those that the members of exploded arguments are sent as; `None` where that is the
/// same. An engine refuses a call in which the two collide.
pub(crate) fn sent(tool: &Tool, arguments: &JsonObject) -> Option<JsonObject> {
    let mut sent: Option<JsonObject> = None;
    for name in tool.exploded_arguments() {
        let Some(Value::Object(members)) = arguments.get(name) else { continue };
        let sent = sent.get_or_insert_with(|| arguments.clone());
        for (member, value) in members {
            // Careless servers take `admin[]` for `admin`.
            let root = member.split('[').next().unwrap_or_default();
            for name in [member, root] {
                sent.entry(name).or_insert_with(|| value.clone());
            }
        }
    }
    sent
}

/// A condition, ready to be tried.
#[derive(Debug)]
pub(crate) struct CompiledCondition {
    pointer: Pointer,
    test: Test,
    reading: Reading,
}

impl CompiledCondition {
    pub(crate) fn new(
        place: &SettingLocation,
        condition: &Condition,
        reading: Reading,
    ) -> Result<Self, PolicyError> {
        let wrong = |place: SettingLocation, problem: String| PolicyError::Condition { place, problem };
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

    /// Returns true if the condition may depend on the argument of this name.
    pub(crate) fn may_depend_on(&self, argument: &str) -> bool {
        self.pointer.may_enter(argument)
    }

    /// Returns true if the arguments satisfy the condition.
    pub(crate) fn holds(&self, arguments: Arguments<'_>) -> bool {
        match self.reading {
            Reading::Wide => {
                self.pointer.any(arguments.wide, &|value, depth| self.test.anywhere_in(value, depth))
            }
            Reading::Narrow => {
                self.pointer.every(arguments.narrow, &|value| self.test.is_fulfilled_by(value))
            }
        }
    }
}
