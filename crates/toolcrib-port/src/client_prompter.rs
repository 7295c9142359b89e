//! The interface of the client that made a call.

use async_trait::async_trait;
use toolcrib_model::{UserAnswer, UserQuestion};

use crate::ApprovalRequest;

/// The client that made a call, as a channel to its user.
#[async_trait]
pub trait ClientPrompter: Send + Sync {
    /// Asks the user for the approval of calls, and sets the answers it gets. Returns false if the client cannot be
    /// asked; it was not asked in this case.
    async fn ask(&self, batch: &mut [ApprovalRequest]) -> bool;

    /// Puts a question to the user. Returns `None` if the client cannot be asked.
    async fn ask_user(&self, question: &UserQuestion) -> Option<UserAnswer>;
}
