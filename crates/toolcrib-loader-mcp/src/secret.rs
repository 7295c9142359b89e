//! What a server was told in secret, in what it says of itself.

use serde_json::Value;

use crate::McpSource;

/// The fewest bytes of a value that counts as a secret. A shorter one, as `1` or `debug`, is in any text.
const MIN_SECRET_BYTES: usize = 6;

/// What stands for a secret.
const HIDDEN: &str = "***";

/// Whether the value holds something that the server was told in secret.
pub(crate) fn tells(source: &McpSource, value: &Value) -> bool {
    let secrets = secrets(source);
    !secrets.is_empty() && any(value, &|text| secrets.iter().any(|secret| text.contains(&**secret)))
}

/// The value without what the server was told in secret.
pub(crate) fn hide(source: &McpSource, value: Value) -> Value {
    let secrets = secrets(source);
    if secrets.is_empty() { value } else { map(value, &|text| replace(text, &secrets)) }
}

/// The longest first: one may be a part of another. A key after a scheme, as in `Bearer KEY`, is one by itself.
fn secrets(source: &McpSource) -> Vec<String> {
    let told = source.secrets();
    let whole = told.iter().map(|secret| secret.expose().trim());
    let keys = whole.clone().filter_map(|secret| Some(secret.split_once(' ')?.1.trim()));
    let mut secrets: Vec<String> = whole.chain(keys).map(str::to_owned).collect();
    secrets.retain(|secret| secret.len() >= MIN_SECRET_BYTES);
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    secrets
}

fn replace(text: String, secrets: &[String]) -> String {
    secrets.iter().fold(
        text,
        |text, secret| {
            if text.contains(&**secret) { text.replace(&**secret, HIDDEN) } else { text }
        },
    )
}

fn any(value: &Value, test: &impl Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => test(text),
        Value::Array(items) => items.iter().any(|item| any(item, test)),
        Value::Object(map) => map.iter().any(|(key, value)| test(key) || any(value, test)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn map(value: Value, change: &impl Fn(String) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(change(text)),
        Value::Array(items) => items.into_iter().map(|item| map(item, change)).collect(),
        Value::Object(object) => {
            object.into_iter().map(|(key, value)| (change(key), map(value, change))).collect()
        }
        other => other,
    }
}
