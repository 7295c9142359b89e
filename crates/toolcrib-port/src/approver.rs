//! Asking a person.

use async_trait::async_trait;
use toolcrib_model::{UserAnswer, UserQuestion};
use toolcrib_policy::{Approval, Question};

/// Puts questions to whoever may answer them.
#[async_trait]
pub trait Approver: Send + Sync {
    /// Asks about calls that wait side by side, and answers what it can. The future is dropped when the time for
    /// answers is over; what is answered by then counts.
    async fn ask(&self, batch: &mut [Asked]);

    /// Asks what an agent wants to know, or a server. The future is dropped when the time for an answer is over.
    async fn ask_user(&self, _question: &UserQuestion) -> UserAnswer {
        UserAnswer::Nobody
    }

    /// Whether there is somebody who answers what [`ask_user`](Self::ask_user) asks. Servers are told, and ask no
    /// questions otherwise.
    fn has_user(&self) -> bool {
        false
    }
}

/// A question, and its answer once there is one.
#[derive(Clone, Debug)]
pub struct Asked {
    question: Question,
    /// What came back. Where nothing did, the call does not run.
    pub answer: Option<Answer>,
}

impl Asked {
    /// A question without an answer.
    pub fn new(question: Question) -> Self {
        Self { question, answer: None }
    }

    /// What is asked.
    pub fn question(&self) -> &Question {
        &self.question
    }
}

/// What came back.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// Yes, to the call that the approval names.
    Approved(Approval),
    /// No, with what the person said.
    Denied(Option<String>),
    /// There is nobody to ask.
    Nobody,
}
