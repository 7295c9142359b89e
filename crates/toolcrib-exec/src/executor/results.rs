//! Results, for callers that process them beyond a call.

use std::io;
use std::path::Path;
use std::sync::Arc;

use toolcrib_model::{Tool, ToolError, ToolResult};
use toolcrib_port::CallContext;

use super::Executor;

impl Executor {
    /// Prepares a result for a model, such as one that a program got whole; see [`Results::shape`](toolcrib_results::Results::shape).
    pub fn shape(&self, result: ToolResult, tool: Option<&Arc<Tool>>, context: &CallContext) -> ToolResult {
        self.results.shape(result, tool, context)
    }

    /// Waits until other processes can read the results that were stored before; see [`Results::save`](toolcrib_results::Results::save).
    ///
    /// # Errors
    ///
    /// Returns an error if only this process can read them.
    pub async fn save_results(&self) -> Result<(), ToolError> {
        self.results.save().await
    }

    /// Loads the images and audio of a result of another process; see [`Results::load_media`](toolcrib_results::Results::load_media).
    pub async fn load_media(&self, result: &ToolResult, context: &CallContext) {
        self.results.load_media(&result.result, context).await;
    }

    /// Also stores the results of a session in this folder; see [`Results::store_in`](toolcrib_results::Results::store_in).
    pub fn store_results_in(&self, session: &str, folder: &Path) -> io::Result<()> {
        self.results.store_in(session, folder)
    }
}
