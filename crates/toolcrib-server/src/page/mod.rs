//! The status page: what is there, what is called, and what waits for a yes.
//!
//! It is one page without scripts, made anew for each request. Whoever may come in reads it. Answering is for the operator
//! alone, who has the key that was made up for this process: an agent that can send requests to this machine could say yes to
//! its own calls otherwise.
//!
//! All that comes from tools, servers and models passes [`html`], which is the only way into the page.

mod calls;
mod form;
mod html;
mod keys;
mod sections;
mod waiting;

use std::sync::Arc;

use async_trait::async_trait;
use toolcrib_exec::audit::AuditSink;
use toolcrib_model::{UserAnswer, UserQuestion};
use toolcrib_port::{Approver, Asked};

use self::calls::LastCalls;
use self::keys::Keys;
use self::waiting::Waiting;
use crate::Error;
use crate::client::Client;

pub use calls::MAX_LAST_CALLS;
pub(crate) use form::{Fields, MAX_FORM_BYTES};
pub(crate) use sections::{Look, answer_to, page, sign_in};
pub use waiting::{MAX_WAITING, PRESENCE};
pub(crate) use waiting::{Said, Settled};

/// The style of the page, at a path of its own so that the page needs no style within itself.
pub(crate) const STYLE: &str = include_str!("status.css");

/// What the status page shows that has to be there before the app starts: the calls that were made, and the questions that
/// wait. A clone is the same.
#[derive(Clone)]
pub struct StatusPage {
    pub(crate) inner: Arc<Inner>,
}

/// What the page is made of.
pub(crate) struct Inner {
    pub(crate) keys: Keys,
    calls: Arc<LastCalls>,
    pub(crate) waiting: Arc<Waiting>,
}

/// Who looks at the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Viewer {
    /// Whoever is on this machine, where no token is wanted.
    Anybody,
    /// Who has a token. It sees what it may use, and its own calls.
    Client(Arc<Client>),
    /// Who has the key of this process. It sees all, and answers.
    Operator,
}

impl StatusPage {
    /// A page that nobody has looked at.
    pub fn new() -> Result<Self, Error> {
        let inner = Inner { keys: Keys::new()?, calls: Arc::default(), waiting: Arc::default() };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The key by which the operator comes in, for this process only.
    pub fn operator_key(&self) -> &str {
        self.inner.keys.operator()
    }

    /// Who is shown the records of calls.
    pub fn observer(&self) -> Arc<dyn AuditSink> {
        Arc::clone(&self.inner.calls) as _
    }

    /// Puts questions on the page as well as to these, as long as an operator is there. The first answer counts.
    pub fn approver(&self, others: Arc<dyn Approver>) -> Arc<dyn Approver> {
        Arc::new(PageApprover { waiting: Arc::clone(&self.inner.waiting), others })
    }
}

/// Asks the operator at the page, and others.
struct PageApprover {
    waiting: Arc<Waiting>,
    others: Arc<dyn Approver>,
}

#[async_trait]
impl Approver for PageApprover {
    async fn ask(&self, batch: &mut [Asked]) {
        if !self.waiting.is_attended() {
            return self.others.ask(batch).await;
        }
        // Each by itself, so that one may be answered here and the next one elsewhere.
        let asking = batch.iter_mut().map(|asked| self.waiting.ask(asked, self.others.as_ref()));
        futures::future::join_all(asking).await;
    }

    async fn ask_user(&self, question: &UserQuestion) -> UserAnswer {
        self.others.ask_user(question).await
    }

    fn has_user(&self) -> bool {
        self.others.has_user()
    }
}
