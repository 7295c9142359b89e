//! Approvers for programs without a terminal.

use async_trait::async_trait;
use futures::FutureExt as _;
use futures::future::{BoxFuture, join_all};
use toolcrib_model::{UserAnswer, UserQuestion};
use toolcrib_policy::Question;
use toolcrib_port::{Answer, ApprovalRequest, Approver, CallContext};

/// An approver for unattended programs: it has no one to ask, so nothing is approved.
#[derive(Clone, Copy, Debug, Default)]
pub struct DenyAll;

#[async_trait]
impl Approver for DenyAll {
    async fn ask(&self, batch: &mut [ApprovalRequest], _context: &CallContext) {
        for request in batch {
            request.answer = Some(Answer::Nobody);
        }
    }
}

/// An approver made of functions.
///
/// ```
/// use toolcrib_exec::Callback;
/// use toolcrib_policy::Question;
/// use toolcrib_port::Answer;
///
/// let approver = Callback::new(|question: Question| async move {
///     if question.tool == "files.read" {
///         Answer::Approved(question.approve())
///     } else {
///         Answer::Denied(Some("only reading is allowed here".into()))
///     }
/// });
/// # drop(approver);
/// ```
pub struct Callback {
    approve: Box<dyn Fn(Question) -> BoxFuture<'static, Answer> + Send + Sync>,
    answer: Option<Box<dyn Fn(UserQuestion) -> BoxFuture<'static, UserAnswer> + Send + Sync>>,
}

impl Callback {
    /// Creates an approver that calls this function for each call, and concurrently for the calls of one batch. Its
    /// futures are dropped at the end of the time limit.
    pub fn new<F, R>(approve: F) -> Self
    where
        F: Fn(Question) -> R + Send + Sync + 'static,
        R: Future<Output = Answer> + Send + 'static,
    {
        Self { approve: Box::new(move |question| approve(question).boxed()), answer: None }
    }

    /// Answers the questions of agents to their user with this function; without it they have no answer.
    pub fn with_user<F, R>(mut self, answer: F) -> Self
    where
        F: Fn(UserQuestion) -> R + Send + Sync + 'static,
        R: Future<Output = UserAnswer> + Send + 'static,
    {
        self.answer = Some(Box::new(move |question| answer(question).boxed()));
        self
    }
}

#[async_trait]
impl Approver for Callback {
    async fn ask(&self, batch: &mut [ApprovalRequest], _context: &CallContext) {
        let asking = batch.iter_mut().map(|request| {
            let answer = (self.approve)(request.question().clone());
            // Each answer is stored when it arrives, so that the time limit drops only the late ones.
            async move { request.answer = Some(answer.await) }
        });
        join_all(asking).await;
    }

    async fn available(&self) {}

    async fn ask_user(&self, question: &UserQuestion, _context: &CallContext) -> UserAnswer {
        match &self.answer {
            Some(answer) => answer(question.clone()).await,
            None => UserAnswer::Nobody,
        }
    }

    fn has_user(&self) -> bool {
        self.answer.is_some()
    }
}
