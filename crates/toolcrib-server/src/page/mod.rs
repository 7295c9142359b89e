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
mod markdown;
mod reply;
mod sections;

use std::sync::Arc;

use toolcrib_exec::audit::AuditSink;

use self::calls::LastCalls;
use self::keys::Keys;
use crate::client::Client;
use crate::{Error, PendingApprovals};

pub use calls::MAX_LAST_CALLS;
pub(crate) use form::{Fields, MAX_FORM_BYTES};
pub(crate) use reply::{MAX_REPLY_BYTES, reply};
pub(crate) use sections::{Look, answer_to, page, reply_to, sign_in};

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
    pub(crate) pending: PendingApprovals,
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
    /// A page that nobody has looked at, by which these calls are answered.
    pub fn new(pending: &PendingApprovals) -> Result<Self, Error> {
        let inner = Inner { keys: Keys::new()?, calls: Arc::default(), pending: pending.clone() };
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
}
