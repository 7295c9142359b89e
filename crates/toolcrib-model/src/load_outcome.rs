//! The result of loading a source: its tools, and what did not load.

use std::fmt;

use serde::Serialize;

use crate::Tool;

/// The result of loading one source.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadOutcome {
    /// The usable tools.
    pub tools: Vec<Tool>,
    /// The tools that did not load, with reasons.
    pub rejected: Vec<Reject>,
}

/// A tool, or a whole source, that did not load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reject {
    /// The name of the source.
    pub source: String,
    /// The name of the tool, or its position if it has no name; `None` if the source as a whole failed.
    pub name: Option<String>,
    /// The kind of failure.
    pub kind: RejectKind,
    /// The reason: the problem, its location, and the fix.
    pub reason: String,
}

/// The kind of a failure to load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RejectKind {
    /// The file does not exist or cannot be read.
    Unreadable,
    /// The text does not follow the syntax of its format.
    Syntax,
    /// The text exceeds a limit on bytes, depth or count.
    TooLarge,
    /// The text is well-formed but not a tool, or has an unknown shape.
    InvalidTool,
    /// The argument schema does not compile.
    InvalidSchema,
    /// A schema refers to something outside of itself, which is never fetched.
    ExternalRef,
    /// A tool with the same name and the same schema exists already.
    Duplicate,
    /// The namespace belongs to another source.
    NamespaceTaken,
    /// The server or host cannot be reached, or closed the connection.
    Unavailable,
    /// The source requires a logged-in user or credentials, and has none; the reason says how to provide them.
    NeedsLogin,
    /// The tool or the server is not the one that was approved.
    Changed,
    /// The loader does not support a feature that the source uses.
    Unsupported,
}

impl Reject {
    /// Creates a reject for one tool of a source.
    pub fn tool(
        source: impl Into<String>,
        name: impl Into<String>,
        kind: RejectKind,
        reason: impl Into<String>,
    ) -> Self {
        Self { source: source.into(), name: Some(name.into()), kind, reason: reason.into() }
    }

    /// Creates a reject for a whole source.
    pub fn source(source: impl Into<String>, kind: RejectKind, reason: impl Into<String>) -> Self {
        Self { source: source.into(), name: None, kind, reason: reason.into() }
    }
}

impl fmt::Display for Reject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "{}: {name}: {}", self.source, self.reason),
            None => write!(f, "{}: {}", self.source, self.reason),
        }
    }
}

impl LoadOutcome {
    /// Creates the result of a source that failed as a whole.
    pub fn failed(source: impl Into<String>, kind: RejectKind, reason: impl Into<String>) -> Self {
        Self { tools: Vec::new(), rejected: vec![Reject::source(source, kind, reason)] }
    }
}
