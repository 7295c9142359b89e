//! Locations in an app file.

use std::fmt;
use std::sync::Arc;
use toolcrib_model::text::pointer_part;

/// A location in an app file, in the notation for people and as a JSON pointer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SettingLocation {
    text: String,
    pointer: String,
}

impl SettingLocation {
    pub(crate) fn new(key: &str) -> Self {
        Self::default().key(key)
    }

    pub(crate) fn key(&self, key: &str) -> Self {
        let dot = if self.text.is_empty() { "" } else { "." };
        Self {
            text: format!("{}{dot}{key}", self.text),
            pointer: format!("{}/{}", self.pointer, pointer_part(key)),
        }
    }

    pub(crate) fn at(&self, position: usize) -> Self {
        Self { text: format!("{}[{position}]", self.text), pointer: format!("{}/{position}", self.pointer) }
    }

    /// As a JSON pointer from the top of the app file: `/tools/capabilities/deny/0`.
    pub fn pointer(&self) -> &str {
        &self.pointer
    }

    pub(crate) fn rule(&self) -> Arc<str> {
        self.text.as_str().into()
    }
}

/// As people write it: `tools.capabilities.deny[0]`.
impl fmt::Display for SettingLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
