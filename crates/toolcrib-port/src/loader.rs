//! The interface of loaders, which turn a source into tools.

use std::fmt;

use async_trait::async_trait;
use serde::Serialize;
use toolcrib_model::Tool;

/// One source of tools: a file, a server, a document, a module.
#[async_trait]
pub trait ToolLoader: Send + Sync {
    /// Returns the name of the source, unique in a registry, as people read it: `file tools.yaml`, `mcp notes`.
    fn source(&self) -> &str;

    /// Returns the namespace that belongs to this source exclusively, if it has one: tools of any other source in it
    /// are rejected, so that a grant to a module or a server by its name covers nothing else.
    fn exclusive_namespace(&self) -> Option<&str> {
        None
    }

    /// Reads the current state of the source. A broken tool or an absent server is a [`Reject`]; the rest loads.
    /// Connections stay open between calls.
    async fn load(&self) -> LoadOutcome;

    /// Returns warnings of the last load for the operator: probable mistakes that keep no tool from loading.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }

    /// Records that a watched file of the source was saved. The next [`load`](Self::load) uses its content at that
    /// time.
    fn saved(&self) {}

    /// Returns the source's instructions for the use of its tools, as of the last load. The text is untrusted and has
    /// to be shown as such.
    fn instructions(&self) -> Option<String> {
        None
    }

    /// Returns the title of the source, or a line that it describes itself with, as of the last load. The text is
    /// untrusted.
    fn about(&self) -> Option<String> {
        None
    }

    /// Returns the state of the source's connection, if it has one: one word, or the reason why it fails.
    fn health(&self) -> Option<Result<&'static str, String>> {
        None
    }

    /// Completes when the source has reported a change since the last load; never completes for a source that reports
    /// no changes. A source may report changes at any rate: the caller has to limit how often it reloads.
    async fn changed(&self) {
        std::future::pending::<()>().await;
    }
}

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
