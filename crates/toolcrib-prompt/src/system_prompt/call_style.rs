//! The form of calls.

use serde::{Deserialize, Serialize};

/// The form in which a model calls tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CallStyle {
    /// Calls through the API, which is given the schemas.
    #[default]
    Native,
    /// Calls in the text of the model; the schemas are in the system prompt.
    Text,
}
