//! The switches of the program that starts an app.

use std::time::Duration;

use toolcrib_loader_mcp::DEFAULT_STARTUP_TIMEOUT;
use toolcrib_search::embedding::DEFAULT_WAIT;
use toolcrib_tasks::TaskStore;

/// The switches of the program that starts an app, which no app file sets.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct LaunchOptions {
    /// The default startup timeout of MCP servers; 10 s unless set.
    pub startup_timeout: Duration,
    /// True to list tools of MCP servers from the cache, without starting the servers; `true` unless set.
    pub lazy: bool,
    /// True to run with all tools or not at all, so that every source is loaded at start; the value of the file and of
    /// [`Extensions::strict`](crate::Extensions::strict) unless set.
    pub strict: Option<bool>,
    /// The time that the start waits for the vectors of semantic search; [`DEFAULT_WAIT`] unless set. Until they are
    /// ready, tools are found by their words.
    pub search_patience: Duration,
    /// True to run the `setup` actions of its modules at start; `true` unless set. Commands that only inspect an app
    /// leave them out.
    pub setup: bool,
    /// The store of its tasks; in this process unless set.
    pub tasks: TaskStore,
}

impl Default for LaunchOptions {
    fn default() -> Self {
        Self {
            startup_timeout: DEFAULT_STARTUP_TIMEOUT,
            lazy: true,
            strict: None,
            search_patience: DEFAULT_WAIT,
            setup: true,
            tasks: TaskStore::default(),
        }
    }
}
