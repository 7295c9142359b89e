//! What a server was told in secret, in what it says of itself.

use serde_json::Value;

use crate::McpSource;

/// The fewest bytes of a value that counts as a secret. A shorter one, as `1` or `debug`, is in any text.
const MIN_SECRET_BYTES: usize = 6;

/// What stands for a secret.
const HIDDEN: &str = "***";

/// What a server was told in secret, the longest first: one may be a part of another.
pub(crate) struct Secrets(Vec<String>);

impl Secrets {
    /// The secrets of a server. A key after a scheme, as in `Bearer KEY`, is one by itself.
    pub(crate) fn of(source: &McpSource) -> Self {
        let told = source.secrets();
        let whole = told.iter().map(|secret| secret.expose().trim());
        let keys = whole.clone().filter_map(|secret| Some(secret.split_once(' ')?.1.trim()));
        let mut secrets: Vec<String> = whole.chain(keys).map(str::to_owned).collect();
        secrets.retain(|secret| secret.len() >= MIN_SECRET_BYTES);
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Self(secrets)
    }

    /// Whether the value holds one of them.
    pub(crate) fn are_told_by(&self, value: &Value) -> bool {
        !self.0.is_empty() && any(value, &|text| self.0.iter().any(|secret| text.contains(&**secret)))
    }

    /// The value without them.
    pub(crate) fn hide(&self, value: Value) -> Value {
        if self.0.is_empty() { value } else { map(value, &|text| replace(text, &self.0)) }
    }
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
