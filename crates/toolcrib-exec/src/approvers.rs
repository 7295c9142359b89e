//! Approvers that are no terminal.

use async_trait::async_trait;
use futures::FutureExt as _;
use futures::future::{BoxFuture, join_all};
use toolcrib_model::{UserAnswer, UserQuestion};
use toolcrib_policy::Question;
use toolcrib_port::{Answer, Approver, Asked};

/// The approver of a program that nobody sits at.
#[derive(Clone, Copy, Debug, Default)]
pub struct DenyAll;

#[async_trait]
impl Approver for DenyAll {
    async fn ask(&self, batch: &mut [Asked]) {
        for asked in batch {
            asked.answer = Some(Answer::Nobody);
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
    /// Asks this function about each call; about those of one batch side by side. Its futures are dropped when the time
    /// for answers is over.
    pub fn new<F, R>(approve: F) -> Self
    where
        F: Fn(Question) -> R + Send + Sync + 'static,
        R: Future<Output = Answer> + Send + 'static,
    {
        Self { approve: Box::new(move |question| approve(question).boxed()), answer: None }
    }

    /// Answers what agents ask their user with this function; nobody answers otherwise.
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
    async fn ask(&self, batch: &mut [Asked]) {
        let asking = batch.iter_mut().map(|asked| {
            let answer = (self.approve)(asked.question().clone());
            // Each is put down as it comes, so that a late one takes none with it.
            async move { asked.answer = Some(answer.await) }
        });
        join_all(asking).await;
    }

    async fn ask_user(&self, question: &UserQuestion) -> UserAnswer {
        match &self.answer {
            Some(answer) => answer(question.clone()).await,
            None => UserAnswer::Nobody,
        }
    }

    fn has_user(&self) -> bool {
        self.answer.is_some()
    }
}
