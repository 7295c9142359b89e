//! What may be wrong with rules.

use crate::Place;

/// A policy that cannot be compiled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// A rule names nothing.
    #[error("{place} names neither `module` nor `actions` nor `risk`; `module: \"*\"` speaks of everything")]
    EmptyRule {
        /// Where it stands.
        place: Place,
    },
    /// There is more of something than is taken.
    #[error("{place}: {count} {what}, more than {limit}")]
    TooMany {
        /// Where it stands.
        place: Place,
        /// Of what.
        what: &'static str,
        /// How many there are.
        count: usize,
        /// The most that there may be.
        limit: usize,
    },
    /// A pattern is not a glob.
    #[error("{place}: `{pattern}` is not a valid pattern")]
    Pattern {
        /// Where it stands.
        place: Place,
        /// The pattern as it was given.
        pattern: String,
        /// What is wrong with it.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A condition on arguments is not one.
    #[error("{place}: {problem}")]
    Condition {
        /// Where it stands.
        place: Place,
        /// What is wrong with it, and how to write it.
        problem: String,
    },
    /// A condition's `matches` is not a regular expression, or too large a one.
    #[error("{place}: `{pattern}` is not a regular expression that can be used: {}", reason(source))]
    Regex {
        /// Where it stands.
        place: Place,
        /// The expression as it was given.
        pattern: String,
        /// What is wrong with it.
        #[source]
        source: Box<regex::Error>,
    },
    /// What a tool declares under `access` cannot be read.
    #[error("{place}: {source}; write `network`, `filesystem` and `system`, each a list")]
    Form {
        /// Where it stands.
        place: Place,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
    /// An entry of `access` is not one.
    #[error("{place}: `{entry}` {problem}")]
    Access {
        /// Where it stands.
        place: Place,
        /// The entry as it was given.
        entry: String,
        /// What is wrong with it, and how to write it.
        problem: &'static str,
    },
}

impl PolicyError {
    /// Where in the app file it is.
    pub fn place(&self) -> &Place {
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

/// The last line of what the library draws, which names the fault.
fn reason(error: &regex::Error) -> String {
    let text = error.to_string();
    let line = text.lines().last().unwrap_or_default();
    line.strip_prefix("error: ").unwrap_or(line).trim_end_matches('.').to_owned()
}
