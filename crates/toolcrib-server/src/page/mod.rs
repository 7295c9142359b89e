//! The status page: sources, tools, the latest calls, and the calls that wait for an approval.
//!
//! It is one page without scripts, rendered for each request. Every admitted viewer can read it. Only the operator
//! answers, with the key that was generated for this process, and the people of the app approve calls with their own:
//! otherwise an agent that can send requests to this machine could approve its own calls.
//!
//! All texts of tools, servers and models pass through [`html`], which escapes them.

mod calls;
mod form;
mod html;
mod keys;
mod markdown;
mod reply;
mod sections;

use std::sync::Arc;

use toolcrib_exec::audit::AuditSink;
use toolcrib_policy::OPERATOR;

use self::calls::LastCalls;
use self::keys::Keys;
use crate::Error;
use crate::approval::PendingApprovals;
use crate::client::Client;

pub(crate) use form::{Fields, MAX_FORM_BYTES};
pub(crate) use reply::{MAX_REPLY_BYTES, reply};
pub(crate) use sections::{
    LinkPage, OVERRIDE_FORM, PROFILE_FORM, PageView, answer_to, link_page, login_answered, login_question,
    page, reply_to, session as shown_session, sign_in, whole_arguments,
};

/// The style of the page. It is served under a separate path, so that the page needs no inline style.
pub(crate) const STYLE: &str = include_str!("status.css");

/// The state of the status page that must exist before the app starts: the latest calls and the waiting questions. A
/// clone shares it.
#[derive(Clone)]
pub struct StatusPage {
    pub(crate) inner: Arc<PageState>,
}

/// The shared state of the page.
pub(crate) struct PageState {
    pub(crate) keys: Keys,
    calls: Arc<LastCalls>,
    pub(crate) pending: PendingApprovals,
}

/// A viewer of the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Viewer {
    /// A local process, if no token is required.
    Anybody,
    /// The holder of a token, who sees the tools that it may use and its calls.
    Client(Arc<Client>),
    /// The holder of the key of this process, who sees everything and answers.
    Operator,
    /// A person of the app, who sees everything and approves calls.
    Person(Arc<str>),
}

impl Viewer {
    /// Returns the name under which the viewer approves calls, if it may.
    pub(crate) fn approver(&self) -> Option<&str> {
        match self {
            Self::Operator => Some(OPERATOR),
            Self::Person(name) => Some(name),
            Self::Anybody | Self::Client(_) => None,
        }
    }
}

impl StatusPage {
    /// Creates a page on which these pending calls are answered.
    pub fn new(pending: &PendingApprovals) -> Result<Self, Error> {
        let inner = PageState { keys: Keys::new()?, calls: Arc::default(), pending: pending.clone() };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Returns the key with which the operator signs in. It is valid for this process only.
    pub fn operator_key(&self) -> &str {
        self.inner.keys.operator()
    }

    /// Returns the sink that receives the records of calls.
    pub fn observer(&self) -> Arc<dyn AuditSink> {
        Arc::clone(&self.inner.calls) as _
    }
}
