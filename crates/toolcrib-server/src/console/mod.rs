//! The console: an overview, the calls that wait for an approval, the latest calls, the tools, tasks, sessions, and the
//! policy.
//!
//! Pages are rendered for each request and work without the script, which keeps them current. Every admitted viewer can
//! read them. Only the operator answers and makes calls, with the key that was generated for this process, and the people
//! of the app approve calls with their own: otherwise an agent that can send requests to this machine could approve its
//! own calls.
//!
//! All texts of tools, servers and models pass through [`html`], which escapes them.

mod charts;
mod form;
mod history;
mod html;
mod keys;
mod markdown;
mod reply;
mod schema_form;
mod sections;
mod trials;

use std::sync::Arc;

use tokio::sync::Semaphore;
use toolcrib_app::sections::serve::sessions_of;
use toolcrib_exec::audit::AuditSink;
use toolcrib_model::random::hex;
use toolcrib_policy::OPERATOR;

use self::history::CallHistory;
use self::keys::Keys;
use self::trials::Trials;
use crate::Error;
use crate::approval::PendingApprovals;
use crate::client::Client;
use crate::replica::Replica;

pub(crate) use form::{Fields, MAX_FORM_BYTES};
pub(crate) use reply::{MAX_REPLY_BYTES, reply};
pub(crate) use schema_form::SchemaForm;
pub(crate) use sections::{
    ConsoleView, LinkPage, OVERRIDE_FORM, PROFILE_FORM, PUSH_FORM, Page, REPLAY_FORM, answer_to, link_page,
    login_answered, login_question, page, reply_to, session as shown_session, sign_in, trial_of,
    whole_arguments,
};

/// The style of the pages. It is served under a separate path, so that they need no inline style.
pub(crate) const STYLE: &str = include_str!("console.css");

/// The script of the console.
pub(crate) const SCRIPT: &str = include_str!("console.js");

/// The script that shows push messages while no page is open.
pub(crate) const WORKER: &str = include_str!("worker.js");

/// The maximum number of pages that are kept current by event streams.
const MAX_EVENT_STREAMS: usize = 256;

/// The purpose of the keys of the console among those that processes have in common.
const PURPOSE: &str = "console";

/// The state of the console that must exist before the app starts: the latest calls and the waiting questions. A clone
/// shares it.
#[derive(Clone)]
pub struct Console {
    pub(crate) inner: Arc<ConsoleState>,
}

/// The shared state of the console.
pub(crate) struct ConsoleState {
    keys: Keys,
    pub(crate) history: Arc<CallHistory>,
    pub(crate) pending: PendingApprovals,
    pub(crate) trials: Trials,
    /// The permits of event streams.
    pub(crate) streams: Arc<Semaphore>,
}

/// A viewer of the console.
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

    /// Returns true if the viewer may see data of this session.
    pub(crate) fn may_see(&self, session: &str) -> bool {
        match self {
            Self::Client(client) => session.starts_with(&sessions_of(&client.name)),
            Self::Anybody | Self::Operator | Self::Person(_) => true,
        }
    }
}

impl Console {
    /// Creates a console on which these pending calls are answered.
    pub fn new(pending: &PendingApprovals) -> Result<Self, Error> {
        let inner = ConsoleState {
            keys: Keys::new()?,
            history: Arc::default(),
            pending: pending.clone(),
            trials: Trials::default(),
            streams: Arc::new(Semaphore::new(MAX_EVENT_STREAMS)),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Returns the key with which the operator signs in. It is valid for this process only.
    pub fn operator_key(&self) -> &str {
        self.inner.keys.operator()
    }

    /// Returns the sink that receives the records of calls.
    pub fn observer(&self) -> Arc<dyn AuditSink> {
        Arc::clone(&self.inner.history) as _
    }
}

impl ConsoleState {
    /// Returns this process among others, whose operators and pages it accepts.
    fn others(&self) -> Option<&Arc<Replica>> {
        self.pending.replica().filter(|replica| !replica.is_alone())
    }

    /// Lets the operator of this process sign in at the others.
    pub(crate) fn join(&self, replica: &Replica) {
        replica.admit_operator(self.keys.operator_digest());
    }

    /// Returns true if this is the operator's key, of this process or of another one that is alive.
    pub(crate) async fn is_operator(&self, key: &str) -> bool {
        self.keys.is_operator(key)
            || match self.others() {
                // While the store is away, the key of this process counts.
                Some(replica) => replica.is_operator(&keys::digest(key)).await.unwrap_or_default(),
                None => false,
            }
    }

    /// Prepares the seals of pages that other processes accept too. While the store is away, this one alone does.
    pub(crate) async fn prepare_seals(&self) {
        if let Some(replica) = self.others()
            && let Err(error) = replica.learn_keys().await
        {
            tracing::warn!(%error, "other processes will not accept what this page sends");
        }
    }

    /// Returns the seal of a text.
    pub(crate) fn sealed(&self, text: &str) -> String {
        let shared = self.others().and_then(|replica| replica.seal_page(&bound_to(text)));
        shared.unwrap_or_else(|| self.keys.sealed(text))
    }

    /// Returns true if a seal is that of this text, by this process or another one.
    pub(crate) async fn is_sealed(&self, text: &str, seal: &str) -> bool {
        self.keys.is_sealed(text, seal)
            || match self.others() {
                Some(replica) => replica.open::<()>(&bound_to(text), seal).await.is_ok(),
                None => false,
            }
    }

    /// Returns the name of the cookie. Browsers share cookies between the ports of a host, so it has the port of the
    /// process, or what all processes of the app have in common.
    pub(crate) fn cookie(&self, port: u16) -> String {
        match self.others() {
            Some(replica) => {
                let [first, second, third, fourth, ..] = replica.derive(PURPOSE, "cookie");
                format!("toolcrib_{}", hex(&[first, second, third, fourth]))
            }
            None => format!("toolcrib_{port}"),
        }
    }

    /// Returns the ids of the calls and questions that wait for an answer and that this viewer may see.
    pub(crate) fn waiting_ids(&self, viewer: &Viewer) -> Vec<u64> {
        let calls = self.pending.questions().into_iter().filter(|call| viewer.may_see(&call.session));
        let questions = self.pending.questions_to_user().all().into_iter();
        let questions = questions.filter(|pending| viewer.may_see(&pending.question.session));
        calls.map(|call| call.id).chain(questions.map(|pending| pending.id)).collect()
    }
}

/// Returns the purpose and text that a seal is bound to, so that it is not valid for another purpose.
fn bound_to(text: &str) -> Vec<u8> {
    format!("{PURPOSE}/{text}").into_bytes()
}
