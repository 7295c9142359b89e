//! Locations of settings.

use std::fmt;
use std::sync::Arc;
use toolcrib_model::text::pointer_part;

/// A location in a file of settings, in the notation for people and as a JSON pointer. The default is the top.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SettingLocation {
    text: String,
    pointer: String,
}

impl SettingLocation {
    /// Returns the location of a key.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        let dot = if self.text.is_empty() { "" } else { "." };
        Self {
            text: format!("{}{dot}{key}", self.text),
            pointer: format!("{}/{}", self.pointer, pointer_part(key)),
        }
    }

    /// Returns the location of an element of a list.
    #[must_use]
    pub fn at(&self, position: usize) -> Self {
        Self { text: format!("{}[{position}]", self.text), pointer: format!("{}/{position}", self.pointer) }
    }

    /// Returns the location as a JSON pointer: `/tools/capabilities/deny/0`.
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
        f.write_str(if self.text.is_empty() { "rules" } else { &self.text })
    }
}

/// The locations of the rules of a policy in the file that holds them.
#[derive(Clone, Debug, Default)]
pub struct RuleLocations {
    /// The location of the [`Capabilities`](crate::Capabilities).
    pub capabilities: SettingLocation,
    /// The location of the mapping from each module to its settings, among them its
    /// [`Constraints`](crate::Constraints).
    pub modules: SettingLocation,
}
