//! Errors of rules.

use crate::SettingLocation;

/// A policy that cannot be compiled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// A rule names nothing.
    #[error("{place} names neither `module` nor `actions` nor `risk`; `module: \"*\"` matches everything")]
    EmptyRule {
        /// The location of the rule.
        place: SettingLocation,
    },
    /// There is more of something than is taken.
    #[error("{place}: {count} {what}, more than {limit}")]
    TooMany {
        /// The location of the rule.
        place: SettingLocation,
        /// Of what.
        what: &'static str,
        /// The number of rules.
        count: usize,
        /// The most that there may be.
        limit: usize,
    },
    /// A pattern is not a glob.
    #[error("{place}: `{pattern}` is not a valid pattern")]
    Pattern {
        /// The location of the rule.
        place: SettingLocation,
        /// The pattern as it was given.
        pattern: String,
        /// The problem.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A condition on arguments is not one.
    #[error("{place}: {problem}")]
    Condition {
        /// The location of the rule.
        place: SettingLocation,
        /// The problem, and the correct form.
        problem: String,
    },
    /// A condition's `matches` is not a regular expression, or too large a one.
    #[error("{place}: `{pattern}` is not a regular expression that can be used: {}", reason(source))]
    Regex {
        /// The location of the rule.
        place: SettingLocation,
        /// The expression as it was given.
        pattern: String,
        /// The problem.
        #[source]
        source: Box<regex::Error>,
    },
    /// The `access` of a tool is invalid.
    #[error("{place}: {source}; write `network`, `filesystem` and `system`, each a list")]
    Form {
        /// The location of the rule.
        place: SettingLocation,
        /// The problem.
        #[source]
        source: serde_json::Error,
    },
    /// An entry of `access` is not one.
    #[error("{place}: `{entry}` {problem}")]
    Access {
        /// The location of the rule.
        place: SettingLocation,
        /// The entry as it was given.
        entry: String,
        /// The problem, and the correct form.
        problem: &'static str,
    },
}

impl PolicyError {
    /// Returns the location in the app file.
    pub fn place(&self) -> &SettingLocation {
        match self {
            Self::EmptyRule { place }
            | Self::TooMany { place, .. }
            | Self::Pattern { place, .. }
            | Self::Condition { place, .. }
            | Self::Regex { place, .. }
            | Self::Form { place, .. }
            | Self::Access { place, .. } => place,
        }
    }
}

/// Returns the last line of what the library draws, which names the fault.
fn reason(error: &regex::Error) -> String {
    let text = error.to_string();
    let line = text.lines().last().unwrap_or_default();
    line.strip_prefix("error: ").unwrap_or(line).trim_end_matches('.').to_owned()
}
