//! Requests for the approval of calls, and their answers.

use toolcrib_policy::{Approval, Question};

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
