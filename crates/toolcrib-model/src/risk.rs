//! How much harm a tool can do.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much harm a call of a tool can do. Ordered: `Low < Medium < High`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Risk {
    /// Reads, and changes nothing.
    Low,
    /// Changes something that can be changed back; also what is assumed when nothing is known.
    #[default]
    Medium,
    /// Deletes, spends, publishes.
    High,
}

impl Risk {
    /// `low`, `medium` or `high`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }

    /// Reads `low`, `medium` or `high`, in any case.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Low, Self::Medium, Self::High]
            .into_iter()
            .find(|risk| text.eq_ignore_ascii_case(risk.as_str()))
    }
}

impl fmt::Display for Risk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
