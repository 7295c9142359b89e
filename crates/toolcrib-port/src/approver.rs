//! Asking a person.

use async_trait::async_trait;
use toolcrib_policy::{ApprovalDigest, Question};

/// Puts questions to whoever may answer them.
#[async_trait]
pub trait Approver: Send + Sync {
    /// Asks. The future is dropped when the time for an answer is over.
    async fn ask(&self, question: &Question) -> Answer;
}

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Yes, to the call with this digest.
    Approved(ApprovalDigest),
    /// No, with what the person said.
    Denied(Option<String>),
    /// There is nobody to ask.
    Nobody,
}
