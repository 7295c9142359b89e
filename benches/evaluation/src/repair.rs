//! Repairs of a call, made from nothing but the text of its error.

use serde_json::{Map, Value, json};

use crate::parameters::Knowledge;

/// The next step after a failed call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Repair {
    /// Calls with other arguments.
    Arguments(Value),
    /// Calls another tool with the same arguments.
    Tool(String),
    /// Waits for these milliseconds, and calls again.
    Wait(u64),
}

/// The longest that an agent waits when it is told to come back.
const MAX_WAIT_MS: u64 = 3_000;

/// Returns the repair that an error suggests: the first of a small set of rules that changes anything.
pub(crate) fn repair(error: &str, arguments: &Value, knowledge: &Knowledge) -> Option<Repair> {
    let error = error.replace('\\', "");
    let rules = [suggested_value, missing, misplaced, superfluous];
    let repaired =
        rules.iter().find_map(|rule| rule(&error, arguments, knowledge)).filter(|new| new != arguments);
    repaired.map(Repair::Arguments).or_else(|| other_tool(&error)).or_else(|| wait(&error))
}

/// `not "Open", did you mean "open"?`: takes the value that is suggested.
fn suggested_value(error: &str, arguments: &Value, _: &Knowledge) -> Option<Value> {
    let (before, after) = error.split_once("did you mean \"")?;
    let new = after.split('"').next()?;
    let old = before.rsplit('"').nth(1)?;
    let text = arguments.to_string().replace(&json!(old).to_string(), &json!(new).to_string());
    serde_json::from_str(&text).ok()
}

/// `` `token` is missing ``: adds it where it is known.
fn missing(error: &str, arguments: &Value, knowledge: &Knowledge) -> Option<Value> {
    let (before, _) = error.split_once("` is missing")?;
    let name = before.rsplit('`').next()?;
    let known =
        knowledge.iter().find(|(key, _)| key.trim_end_matches('?').split('|').any(|known| known == name));
    let mut arguments = arguments.as_object()?.clone();
    arguments.insert(name.to_owned(), known?.1.clone());
    Some(arguments.into())
}

/// ``unknown argument `To`; expected one of: ServiceSid, body``, or with the schemas of those: moves it into the one that
/// holds the rest.
fn misplaced(error: &str, arguments: &Value, _: &Knowledge) -> Option<Value> {
    let unknown = unknown(error);
    let (_, expected) = error.split_once("expected one of: ").or_else(|| error.split_once("expected {"))?;
    let holder = expected.split([',', ';', ' ', '"']).find(|name| *name == "body")?;
    let mut arguments = arguments.as_object()?.clone();
    let mut inside: Map<String, Value> =
        arguments.get(holder).and_then(Value::as_object).cloned().unwrap_or_default();
    for name in unknown {
        inside.insert(name.to_owned(), arguments.shift_remove(name)?);
    }
    arguments.insert(holder.to_owned(), inside.into());
    Some(arguments.into())
}

/// ``unknown argument `trace` ``: leaves it out where it is not needed.
fn superfluous(error: &str, arguments: &Value, knowledge: &Knowledge) -> Option<Value> {
    let mut arguments = arguments.as_object()?.clone();
    for name in unknown(error) {
        if knowledge.contains_key(&format!("{name}?")) {
            arguments.shift_remove(name);
        }
    }
    Some(arguments.into())
}

fn unknown(error: &str) -> Vec<&str> {
    error.split("unknown argument `").skip(1).filter_map(|rest| rest.split('`').next()).collect()
}

/// ``there is no tool `x`; did you mean `a.b`?``: calls that one.
fn other_tool(error: &str) -> Option<Repair> {
    let (_, after) = error.contains("unknown_tool").then(|| error.split_once("did you mean `"))??;
    Some(Repair::Tool(after.split('`').next()?.to_owned()))
}

/// `try again after 1 s`: waits, where that is soon.
fn wait(error: &str) -> Option<Repair> {
    let (_, after) = error.split_once("try again after ")?;
    let mut words = after.split([' ', '"', ',', '.']);
    let amount: u64 = words.next()?.parse().ok()?;
    let milliseconds = if words.next() == Some("ms") { amount } else { amount.saturating_mul(1_000) };
    (milliseconds <= MAX_WAIT_MS).then_some(Repair::Wait(milliseconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repaired(error: &str, arguments: &Value, knowledge: &Value) -> Option<Repair> {
        repair(error, arguments, knowledge.as_object().unwrap())
    }

    #[test]
    fn an_error_is_repaired_from_its_text() {
        let to = |value: Value| Some(Repair::Arguments(value));
        let choice = r#"{"message":"`w` must be one of \"am\", \"pm\", not \"AM\", did you mean \"am\"?"}"#;
        assert_eq!(repaired(choice, &json!({"w": "AM"}), &json!({})), to(json!({"w": "am"})));
        let token = "the arguments do not fit: `token` is missing";
        assert_eq!(repaired(token, &json!({}), &json!({"token?": "t"})), to(json!({"token": "t"})));
        assert_eq!(repaired(token, &json!({}), &json!({})), None);
        let body = "unknown argument `To`; expected one of: Sid, body";
        assert_eq!(
            repaired(body, &json!({"Sid": 1, "To": 2}), &json!({})),
            to(json!({"Sid": 1, "body": {"To": 2}}))
        );
        let schemas =
            r#"{"message":"unknown argument `To`","hint":"expected {\"body\":{\"type\":\"object\"}}"}"#;
        assert_eq!(repaired(schemas, &json!({"To": 2}), &json!({})), to(json!({"body": {"To": 2}})));
        let trace = "unknown argument `trace`; expected one of: id";
        assert_eq!(
            repaired(trace, &json!({"id": 1, "trace": 2}), &json!({"trace?": 2})),
            to(json!({"id": 1}))
        );
        assert_eq!(repaired("try again after 1 s", &json!({}), &json!({})), Some(Repair::Wait(1_000)));
        assert_eq!(repaired("try again after 30 s", &json!({}), &json!({})), None);
        let tool = r#"{"kind":"unknown_tool","hint":"did you mean `a.b`?"}"#;
        assert_eq!(repaired(tool, &json!({}), &json!({})), Some(Repair::Tool("a.b".into())));
    }
}
