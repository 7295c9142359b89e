//! From a source to tools.

use std::fmt;

use async_trait::async_trait;
use serde::Serialize;
use toolcrib_model::Tool;

/// One source of tools: a file, a server, a document, a module.
#[async_trait]
pub trait ToolLoader: Send + Sync {
    /// The name of the source, unique in a registry, as people read it: `file tools.yaml`, `mcp notes`.
    fn source(&self) -> &str;

    /// The namespace that is this source's alone, when it has one: tools of any other source under it are rejected, so
    /// that what is granted to a module or a server by its name reaches nothing else.
    fn exclusive_namespace(&self) -> Option<&str> {
        None
    }

    /// Reads the source as it is now. A broken tool or an absent server is a [`Reject`]; what else there is loads.
    /// Connections stay open from one call to the next.
    async fn load(&self) -> Loaded;

    /// Returns what the last load found that is probably a mistake and keeps no tool from loading, for the operator.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }

    /// Records that a watched file of the source was saved. The next [`load`](Self::load) uses it as it is then.
    fn saved(&self) {}

    /// What the source itself says, since the last load, of how its tools are meant to be used. It is the text of a stranger,
    /// and has to be shown as one.
    fn instructions(&self) -> Option<String> {
        None
    }

    /// Returns the title of the source, or a line in its own words, as of the last load. It is the text of a stranger too.
    fn about(&self) -> Option<String> {
        None
    }

    /// How its connection stands now, of a source that has one: in a word, or why it fails.
    fn health(&self) -> Option<Result<&'static str, String>> {
        None
    }

    /// Comes back when the source has said, since the last load, that it is no longer what was loaded; never where a
    /// source does not say such things. A source may say so as often as it likes: who waits here sees to it that it is
    /// not loaded all the time.
    async fn changed(&self) {
        std::future::pending::<()>().await;
    }
}

/// What came of one source.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Loaded {
    /// The tools that can be used.
    pub tools: Vec<Tool>,
    /// What cannot, and why.
    pub rejected: Vec<Reject>,
}

/// A tool, or a whole source, that did not load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reject {
    /// The source.
    pub source: String,
    /// The tool, by its place where it has no name; `None` when the source as a whole failed.
    pub name: Option<String>,
    /// What sort of failure it is.
    pub kind: RejectKind,
    /// What happened, where, and what to do.
    pub reason: String,
}

/// Why something did not load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RejectKind {
    /// The file is not there or cannot be read.
    Unreadable,
    /// The text is not what its format says.
    Syntax,
    /// A bound on bytes, depth or count was passed.
    TooLarge,
    /// The text is well-formed but not a tool, or not of a known shape.
    InvalidTool,
    /// The argument schema does not compile.
    InvalidSchema,
    /// A schema refers to something outside of itself, which is never fetched.
    ExternalRef,
    /// The same name with the same schema is there already.
    Duplicate,
    /// The namespace belongs to another source.
    NamespaceTaken,
    /// The server or host cannot be reached, or broke off.
    Unavailable,
    /// The source wants a user who has logged in, or credentials, and has none; the reason says how they are given.
    NeedsLogin,
    /// The tool or the server is not the one that was approved.
    Changed,
    /// Something that this loader does not do.
    Unsupported,
}

impl Reject {
    /// A tool of this source that did not load.
    pub fn tool(
        source: impl Into<String>,
        name: impl Into<String>,
        kind: RejectKind,
        reason: impl Into<String>,
    ) -> Self {
        Self { source: source.into(), name: Some(name.into()), kind, reason: reason.into() }
    }

    /// A source that did not load at all.
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

impl Loaded {
    /// Only a reject of the source as a whole.
    pub fn failed(source: impl Into<String>, kind: RejectKind, reason: impl Into<String>) -> Self {
        Self { tools: Vec::new(), rejected: vec![Reject::source(source, kind, reason)] }
    }
}
