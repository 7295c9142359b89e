//! The interface of loaders, which turn a source into tools.

use async_trait::async_trait;
use toolcrib_model::LoadOutcome;

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

    /// Reads the current state of the source. A broken tool or an absent server is a reject; the rest loads.
    /// Connections stay open between calls.
    async fn load(&self) -> LoadOutcome;

    /// Returns warnings of the last load for the operator: probable mistakes that keep no tool from loading.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }

    /// Records that a watched file of the source was saved. The next [`load`](Self::load) uses its content at that
    /// time.
    fn saved(&self) {}

    /// Suspends a source that no caller may use: its processes end and its connections close. `false` ends the suspension.
    async fn set_suspended(&self, _is_suspended: bool) {}

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
