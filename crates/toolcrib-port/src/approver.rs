//! Requests for the approval of calls, and questions to the user.

use async_trait::async_trait;
use toolcrib_model::{UserAnswer, UserQuestion};
use toolcrib_policy::{Approval, Question};

/// A channel to a person who approves calls and answers questions.
#[async_trait]
pub trait Approver: Send + Sync {
    /// Asks for the approval of calls that wait concurrently, and sets the answers it gets. The caller drops the future
    /// at the end of the time limit; answers set by then count.
    async fn ask(&self, batch: &mut [ApprovalRequest]);

    /// Puts a question of an agent or a server to the user. The caller drops the future at the end of the time limit.
    async fn ask_user(&self, _question: &UserQuestion) -> UserAnswer {
        UserAnswer::Nobody
    }

    /// Returns true if a user answers [`ask_user`](Self::ask_user). Servers learn of this, and ask no questions
    /// otherwise.
    fn has_user(&self) -> bool {
        false
    }
}

/// A request to approve one call, and its answer once there is one.
#[derive(Clone, Debug)]
pub struct ApprovalRequest {
    question: Question,
    /// The answer. A call without an answer does not run.
    pub answer: Option<Answer>,
}

impl ApprovalRequest {
    /// Creates a request without an answer.
    pub fn new(question: Question) -> Self {
        Self { question, answer: None }
    }

    /// Returns the question to put to the person.
    pub fn question(&self) -> &Question {
        &self.question
    }
}

/// The answer to a request for approval.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// Approval of the call that the [`Approval`] names.
    Approved(Approval),
    /// Denial, with the person's reason if they gave one.
    Denied(Option<String>),
    /// No person is available to answer.
    Nobody,
}
