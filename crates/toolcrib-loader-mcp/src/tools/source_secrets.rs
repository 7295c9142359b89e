//! The secrets of a source, and their removal from texts of its server.

use serde_json::Value;

use crate::McpSource;

/// The shortest value that counts as a secret, in bytes. Shorter ones, as `1` or `debug`, occur in any text.
const MIN_SECRET_BYTES: usize = 6;

/// The replacement for a secret.
const HIDDEN: &str = "***";

/// The secrets that a server receives, longest first: one may contain another.
pub(crate) struct SourceSecrets(Vec<String>);

impl SourceSecrets {
    /// Returns the secrets of a source. In a value such as `Bearer KEY`, the key after the scheme counts separately.
    pub(crate) fn of(source: &McpSource) -> Self {
        let told = source.secrets();
        let whole = told.iter().map(|secret| secret.expose().trim());
        let keys = whole.clone().filter_map(|secret| Some(secret.split_once(' ')?.1.trim()));
        let mut secrets: Vec<String> = whole.chain(keys).map(str::to_owned).collect();
        secrets.retain(|secret| secret.len() >= MIN_SECRET_BYTES);
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Self(secrets)
    }

    /// Returns true if the value contains a secret.
    pub(crate) fn occur_in(&self, value: &Value) -> bool {
        !self.0.is_empty() && any_text(value, &|text| self.0.iter().any(|secret| text.contains(&**secret)))
    }

    /// Returns the value with its secrets replaced.
    pub(crate) fn hide(&self, value: Value) -> Value {
        if self.0.is_empty() { value } else { map_texts(value, &|text| redact(text, &self.0)) }
    }
}

fn redact(text: String, secrets: &[String]) -> String {
    secrets.iter().fold(
        text,
        |text, secret| {
            if text.contains(&**secret) { text.replace(&**secret, HIDDEN) } else { text }
        },
    )
}

/// Returns true if a string or key in the value satisfies the test.
fn any_text(value: &Value, test: &impl Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => test(text),
        Value::Array(items) => items.iter().any(|item| any_text(item, test)),
        Value::Object(map) => map.iter().any(|(key, value)| test(key) || any_text(value, test)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Applies a function to all strings and keys in the value.
fn map_texts(value: Value, change: &impl Fn(String) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(change(text)),
        Value::Array(items) => items.into_iter().map(|item| map_texts(item, change)).collect(),
        Value::Object(object) => {
            object.into_iter().map(|(key, value)| (change(key), map_texts(value, change))).collect()
        }
        other => other,
    }
}
