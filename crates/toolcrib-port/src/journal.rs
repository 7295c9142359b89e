//! The interface of journals, by which a caller knows after a crash which of its calls had begun.

use async_trait::async_trait;
use toolcrib_model::ToolError;

/// The journal entry of one call, kept by a caller that makes the call again if it had not begun.
#[async_trait]
pub trait CallJournal: Send + Sync {
    /// Records that the call is authorized and begins now. The executor waits for it before an engine runs the call.
    ///
    /// # Errors
    ///
    /// Returns an error if the record cannot be stored. The call fails with it, and does not run.
    async fn record_start(&self) -> Result<(), ToolError>;
}
