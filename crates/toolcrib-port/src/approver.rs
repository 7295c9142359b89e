//! The interface for approval requests, and for questions to the user.

use async_trait::async_trait;
use toolcrib_model::{UserAnswer, UserQuestion};
use toolcrib_policy::{Approval, Question};

use crate::CallContext;

/// A channel to a person who approves calls and answers questions. Each request states the [`CallContext`] of the calls
/// that wait for the answer, which says who makes them and whom to ask:
///
/// ```
/// # use toolcrib_port::{ApprovalRequest, Approver, CallContext};
/// async fn ask(approver: &dyn Approver, batch: &mut [ApprovalRequest], context: &CallContext) {
///     approver.ask(batch, context).await;
/// }
/// ```
///
/// No approval can be requested without it, and no question asked:
///
/// ```compile_fail,E0061
/// # use toolcrib_port::{ApprovalRequest, Approver, CallContext};
/// async fn ask(approver: &dyn Approver, batch: &mut [ApprovalRequest], context: &CallContext) {
///     approver.ask(batch).await;
/// }
/// ```
///
/// ```compile_fail,E0061
/// # use toolcrib_model::UserQuestion;
/// # use toolcrib_port::{Approver, CallContext};
/// async fn ask(approver: &dyn Approver, question: &UserQuestion, context: &CallContext) {
///     approver.ask_user(question).await;
/// }
/// ```
#[async_trait]
pub trait Approver: Send + Sync {
    /// Asks for the approval of calls that wait concurrently, and sets the answers it gets. The caller drops the future
    /// at the end of the time limit; answers set by then count.
    async fn ask(&self, batch: &mut [ApprovalRequest], context: &CallContext);

    /// Waits until a person may be available to approve calls. An approver without a person waits forever.
    async fn available(&self) {
        std::future::pending::<()>().await;
    }

    /// Puts a question of an agent or a server to the user of a call. The caller drops the future at the end of the
    /// time limit.
    async fn ask_user(&self, _question: &UserQuestion, _context: &CallContext) -> UserAnswer {
        UserAnswer::Nobody
    }

    /// Returns true if a user answers [`ask_user`](Self::ask_user). Servers learn of this, and ask no questions
    /// otherwise.
    fn has_user(&self) -> bool {
        false
    }
}

/// The client that made a call, as a channel to its user.
#[async_trait]
pub trait ClientPrompter: Send + Sync {
    /// Asks the user for the approval of calls, and sets the answers it gets. Returns false if the client cannot be
    /// asked; it was not asked in this case.
    async fn ask(&self, batch: &mut [ApprovalRequest]) -> bool;

    /// Puts a question to the user. Returns `None` if the client cannot be asked.
    async fn ask_user(&self, question: &UserQuestion) -> Option<UserAnswer>;

    /// Tells the client that the interaction at the page of a question has ended.
    async fn page_ended(&self, _link: &str) {}
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
    /// The question cannot be asked now, for this reason, such as a store that cannot be reached.
    Unavailable(String),
}
