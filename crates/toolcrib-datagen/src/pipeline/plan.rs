//! Planned calls: references to results, leaf values, and the checks of a plan.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use toolcrib_model::ToolResult;

use crate::conversation::{Call, Conversation, ConversationTool, Message};
use crate::validate::{Reason, validate};
use crate::{Kind, conversation};

/// The most calls of a plan.
pub(crate) const MAX_CALLS: usize = 8;

/// A call as a model plans it.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct PlannedCall {
    name: String,
    #[serde(default)]
    arguments: serde_json::Map<String, Value>,
}

impl PlannedCall {
    /// Returns the call with an identifier.
    pub(crate) fn call(self, id: impl Into<String>) -> Call {
        Call::new(id, self.name, self.arguments.into())
    }
}

/// The calls as a model plans them.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct PlannedCalls {
    pub(crate) calls: Vec<PlannedCall>,
}

/// A reference to a part of the result of a planned call: `$1.list.0.field`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reference<'a> {
    /// The position of the call, from 0.
    pub(crate) call: usize,
    path: &'a str,
}

impl<'a> Reference<'a> {
    /// Parses a value; `None` if it is no reference.
    pub(crate) fn parse(value: &'a Value) -> Option<Self> {
        let rest = value.as_str()?.strip_prefix('$')?;
        let (number, path) = rest.split_once('.').unwrap_or((rest, ""));
        let call = number.parse::<usize>().ok()?.checked_sub(1)?;
        Some(Self { call, path })
    }

    /// Returns the part of the result.
    fn resolve(self, results: &[Option<Value>]) -> Result<Value, String> {
        let number = self.call + 1;
        let result = results.get(self.call).and_then(Option::as_ref);
        let mut value = result.ok_or_else(|| format!("call {number} has no result"))?;
        for key in self.path.split('.').filter(|key| !key.is_empty()) {
            let part = match value {
                Value::Array(items) => key.parse::<usize>().ok().and_then(|at| items.get(at)),
                other => other.get(key),
            };
            value = part.ok_or_else(|| format!("the result of call {number} has no `{}`", self.path))?;
        }
        Ok(value.clone())
    }
}

/// Returns the references in the arguments of a call.
pub(crate) fn references(arguments: &Value) -> Vec<Reference<'_>> {
    let mut found = Vec::new();
    visit(arguments, &mut |leaf| found.extend(Reference::parse(leaf)));
    found
}

/// Returns the arguments with the results in place of the references.
///
/// # Errors
///
/// Returns an error if a result lacks the part that is referred to.
pub(crate) fn substitute(arguments: &Value, results: &[Option<Value>]) -> Result<Value, String> {
    if let Some(reference) = Reference::parse(arguments) {
        return reference.resolve(results);
    }
    Ok(match arguments {
        Value::Object(map) => {
            let parts = map.iter().map(|(key, value)| Ok((key.clone(), substitute(value, results)?)));
            Value::Object(parts.collect::<Result<_, String>>()?)
        }
        Value::Array(items) => {
            Value::Array(items.iter().map(|item| substitute(item, results)).collect::<Result<_, _>>()?)
        }
        leaf => leaf.clone(),
    })
}

/// Returns the value of a result for references: a text that is JSON is read as such.
pub(crate) fn value_of(result: &ToolResult) -> Option<Value> {
    result.is_ok().then(|| match &result.result {
        Value::String(text) => {
            serde_json::from_str(text).ok().filter(Value::is_object).unwrap_or_else(|| result.result.clone())
        }
        other => other.clone(),
    })
}

/// Returns the leaf values of planned calls, in a form in which equal values are equal, with their numbers. Values that
/// come from results are left out.
pub(crate) fn leaves(calls: &[Call]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for call in calls {
        visit(&call.arguments, &mut |leaf| {
            if Reference::parse(leaf).is_none() {
                let normal = match leaf {
                    Value::String(text) => text.trim().to_lowercase(),
                    Value::Number(number) => {
                        number.as_f64().map_or_else(|| number.to_string(), |n| n.to_string())
                    }
                    other => other.to_string(),
                };
                *counts.entry(normal).or_default() += 1;
            }
        });
    }
    counts
}

/// Returns the leaf values that two readings of a message share.
pub(crate) fn shared_leaves(one: &[Call], other: &[Call]) -> BTreeMap<String, usize> {
    let of_other = leaves(other);
    let shared = leaves(one).into_iter().filter_map(|(leaf, count)| {
        let both = count.min(of_other.get(&leaf).copied()?);
        Some((leaf, both))
    });
    shared.collect()
}

fn visit<'a>(value: &'a Value, see: &mut dyn FnMut(&'a Value)) {
    match value {
        Value::Object(map) => map.values().for_each(|value| visit(value, see)),
        Value::Array(items) => items.iter().for_each(|item| visit(item, see)),
        leaf => see(leaf),
    }
}

/// Checks a plan against the tools and its kind.
///
/// # Errors
///
/// Returns the first problem, for the model.
pub(crate) fn check(kind: Kind, calls: &[Call], tools: &[ConversationTool]) -> Result<(), String> {
    let most = match kind {
        Kind::Parallel | Kind::Nested | Kind::MultiTurn => MAX_CALLS,
        Kind::Ambiguous => 2,
        Kind::Irrelevant => 0,
        _ => 1,
    };
    let least = match kind {
        Kind::Parallel | Kind::Nested | Kind::Ambiguous => 2,
        Kind::Irrelevant => 0,
        _ => 1,
    };
    if !(least..=most).contains(&calls.len()) {
        let range = if least == most { least.to_string() } else { format!("{least} to {most}") };
        return Err(format!("there are {} calls instead of {range}", calls.len()));
    }
    let mut is_nested = false;
    for (at, call) in calls.iter().enumerate() {
        let references = references(&call.arguments);
        if let Some(later) = references.iter().find(|reference| reference.call >= at) {
            return Err(format!(
                "call {} refers to the result of call {}, which is not made before",
                at + 1,
                later.call + 1
            ));
        }
        is_nested |= !references.is_empty();
        check_call(call, tools, !references.is_empty())?;
    }
    let is_same = |one: &Call, other: &Call| one.name == other.name && one.arguments == other.arguments;
    match kind {
        Kind::Ambiguous if matches!(calls, [one, other] if is_same(one, other)) => {
            Err("both calls are the same".to_owned())
        }
        Kind::Nested if !is_nested => Err("no call uses the result of another".to_owned()),
        Kind::Nested | Kind::MultiTurn => Ok(()),
        _ if is_nested => Err("a call uses the result of another".to_owned()),
        _ => Ok(()),
    }
}

/// Checks a call against the schemas of its tool. The types of arguments that come from results are not known yet.
///
/// # Errors
///
/// Returns the first problem, for the model.
pub(crate) fn check_call(
    call: &Call,
    tools: &[ConversationTool],
    has_references: bool,
) -> Result<(), String> {
    let messages = vec![
        Message::user(call.arguments.to_string()),
        Message::calls([call.clone()]),
        Message::result(call.id.clone(), ""),
    ];
    let probe = Conversation { tools: tools.to_vec(), messages, ..Conversation::new("plan", Kind::Single) };
    let finding = validate(&probe).into_iter().find(|finding| match finding.reason {
        Reason::UnknownTool
        | Reason::ExtraArgument
        | Reason::MissingArgument
        | Reason::HallucinatedArgument => true,
        Reason::SchemaViolation => !has_references,
        _ => false,
    });
    finding.map_or(Ok(()), |finding| Err(finding.detail))
}

/// Returns the required arguments of a call whose values the user says: texts and numbers at the top level.
pub(crate) fn required_values(call: &Call, tools: &[ConversationTool]) -> Vec<String> {
    let overload =
        tools.iter().find(|tool: &&conversation::ConversationTool| tool.name.to_string() == call.name);
    let required = overload.and_then(|tool| tool.parameters.get("required")).and_then(Value::as_array);
    let names = required.into_iter().flatten().filter_map(Value::as_str);
    let is_said = |name: &&str| {
        let value = call.arguments.get(*name);
        value.is_some_and(|value| {
            (value.is_string() || value.is_number()) && Reference::parse(value).is_none()
        })
    };
    names.filter(is_said).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use toolcrib_model::QualifiedName;

    use super::{MAX_CALLS, check, leaves, references, substitute};
    use crate::Kind;
    use crate::conversation::{Call, ConversationTool};

    #[test]
    fn a_reference_becomes_the_part_of_the_result() {
        let results = [Some(json!({"list": [{"id": 7}]})), None];
        let arguments = json!({"order": {"id": "$1.list.0.id"}, "price": "$ 5"});
        assert_eq!(substitute(&arguments, &results), Ok(json!({"order": {"id": 7}, "price": "$ 5"})));
        assert_eq!(references(&arguments).len(), 1);
        assert!(substitute(&json!("$1.name"), &results).unwrap_err().contains("has no `name`"));
        assert!(substitute(&json!("$2.name"), &results).unwrap_err().contains("call 2 has no result"));
    }

    #[test]
    fn a_turn_of_several_has_one_to_eight_calls_that_may_use_results() {
        let tool = ConversationTool {
            name: QualifiedName::new("a", "b").unwrap(),
            description: String::new(),
            parameters: json!({"type": "object", "properties": {"n": {"type": "string"}}}),
        };
        let plan = |calls: usize, kind: Kind| {
            let argument = |at: usize| if at == 0 { "x".to_owned() } else { format!("${at}.id") };
            let call = |at: usize| Call::new(at.to_string(), "a::b", json!({"n": argument(at)}));
            check(kind, &(0..calls).map(call).collect::<Vec<_>>(), std::slice::from_ref(&tool))
        };
        for calls in 1..=MAX_CALLS {
            assert_eq!(plan(calls, Kind::MultiTurn), Ok(()));
        }
        assert_eq!(plan(9, Kind::MultiTurn).unwrap_err(), "there are 9 calls instead of 1 to 8");
        assert_eq!(plan(0, Kind::MultiTurn).unwrap_err(), "there are 0 calls instead of 1 to 8");
        assert_eq!(plan(2, Kind::Single).unwrap_err(), "there are 2 calls instead of 1");
    }

    #[test]
    fn leaves_are_equal_in_any_spelling() {
        let planned = [Call::new("1", "a::b", json!({"city": "Oslo ", "days": 2, "id": "$1.id"}))];
        let again = [Call::new("1", "a::b", json!({"days": 2.0, "city": "oslo"}))];
        assert_eq!(leaves(&planned), leaves(&again));
    }
}
