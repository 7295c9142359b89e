//! Custom context about a caller, set by an embedder for tools that ask for it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The most entries of a [`CallScope`].
pub const MAX_SCOPE_ENTRIES: usize = 32;

/// The most bytes of a key of a [`CallScope`].
const MAX_SCOPE_KEY_BYTES: usize = 64;

/// The most bytes of a value of a [`CallScope`].
pub const MAX_SCOPE_VALUE_BYTES: usize = 1024;

/// Values that an embedder adds to a call, such as a tenant or a locale, by their keys. No argument of a call sets
/// them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "BTreeMap<String, String>", into = "BTreeMap<String, String>")]
pub struct CallScope(Arc<BTreeMap<String, String>>);

/// The reason why a [`CallScope`] does not accept a value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScopeError {
    /// There are [`MAX_SCOPE_ENTRIES`] already.
    TooMany,
    /// The key is empty or too long, or has characters other than letters, digits, `_`, `-` and `.`.
    Key(String),
    /// The value is longer than [`MAX_SCOPE_VALUE_BYTES`].
    Value {
        /// Its key.
        key: String,
        /// Its length in bytes.
        bytes: usize,
    },
}

impl CallScope {
    /// Adds a value, replacing an earlier one under the same key.
    pub fn with(mut self, key: impl Into<String>, value: impl Into<String>) -> Result<Self, ScopeError> {
        let (key, value) = (key.into(), value.into());
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        if key.is_empty() || key.len() > MAX_SCOPE_KEY_BYTES || !key.chars().all(is_plain) {
            return Err(ScopeError::Key(key.chars().take(MAX_SCOPE_KEY_BYTES).collect()));
        }
        if value.len() > MAX_SCOPE_VALUE_BYTES {
            return Err(ScopeError::Value { key, bytes: value.len() });
        }
        if self.0.len() >= MAX_SCOPE_ENTRIES && !self.0.contains_key(&key) {
            return Err(ScopeError::TooMany);
        }
        Arc::make_mut(&mut self.0).insert(key, value);
        Ok(self)
    }

    /// Returns the value under a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// Returns all values by their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// Returns true if there are no values.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl TryFrom<BTreeMap<String, String>> for CallScope {
    type Error = ScopeError;

    fn try_from(values: BTreeMap<String, String>) -> Result<Self, ScopeError> {
        values.into_iter().try_fold(Self::default(), |scope, (key, value)| scope.with(key, value))
    }
}

impl From<CallScope> for BTreeMap<String, String> {
    fn from(scope: CallScope) -> Self {
        Arc::unwrap_or_clone(scope.0)
    }
}

impl fmt::Display for ScopeError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooMany => write!(formatter, "a scope has at most {MAX_SCOPE_ENTRIES} values"),
            Self::Key(key) => write!(
                formatter,
                "expected a key of 1 to {MAX_SCOPE_KEY_BYTES} letters, digits, `_`, `-` and `.`, found `{}`",
                key.escape_debug()
            ),
            Self::Value { key, bytes } => write!(
                formatter,
                "the value of `{key}` has {bytes} bytes, and may have {MAX_SCOPE_VALUE_BYTES}"
            ),
        }
    }
}

impl std::error::Error for ScopeError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_is_bounded_in_keys_values_and_number() {
        let scope = CallScope::default().with("tenant", "acme").unwrap();
        assert_eq!((scope.get("tenant"), scope.get("locale")), (Some("acme"), None));
        for key in ["", "a b", "é", "a=b", &"x".repeat(MAX_SCOPE_KEY_BYTES + 1)] {
            assert!(matches!(scope.clone().with(key, "v"), Err(ScopeError::Key(_))), "{key}");
        }
        let long = "x".repeat(MAX_SCOPE_VALUE_BYTES + 1);
        assert!(matches!(scope.clone().with("k", long), Err(ScopeError::Value { .. })));
        let full = (1..MAX_SCOPE_ENTRIES).fold(scope, |scope, n| scope.with(format!("k{n}"), "v").unwrap());
        assert_eq!(full.clone().with("more", "v"), Err(ScopeError::TooMany));
        assert_eq!(full.with("tenant", "other").unwrap().get("tenant"), Some("other"));
    }
}
