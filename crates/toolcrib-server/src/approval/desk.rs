//! Where the questions of one call are put.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use rmcp::RoleServer;
use rmcp::model::{
    CancelledNotificationParam, ClientResult, ElicitRequest, ElicitRequestParams, ElicitResult, InputRequest,
    InputRequests, InputResponses, RequestId, ServerRequest,
};
use rmcp::service::{Peer, PeerRequestOptions};
use serde::Deserialize as _;
use serde_json::Value;
use tokio::sync::{Notify, oneshot};

/// How long the user of a client may take for an answer. What waits for it may have less patience.
pub const APPROVAL_PATIENCE: Duration = Duration::from_mins(30);

/// The most questions of one call that are open at once.
pub const MAX_QUESTIONS: usize = 64;

/// The most characters of the key of a question that is not ours.
const MAX_KEY_CHARS: usize = 64;

tokio::task_local! {
    static CURRENT: Arc<Desk>;
}

/// How a client is asked.
pub(crate) enum Way {
    /// By requests of ours.
    Requests(Peer<RoleServer>),
    /// By what stands in the place of the result.
    Results,
}

/// Where the questions of one call are put.
pub(crate) struct Desk {
    way: Way,
    open: Mutex<Open>,
    asked: Notify,
    /// Set when the client waits for the call no longer, and cannot be asked by what stands in the place of its result.
    left: AtomicBool,
}

/// Answers that came with the call, before anything was asked. They are for the server alone whose tool was called, and for
/// questions that it has a key for: a call is allowed by nothing that was said before it was shown.
#[derive(Default)]
pub(crate) struct Early {
    pub(crate) server: String,
    pub(crate) answers: InputResponses,
}

/// A question, by which server asks it and what that calls it.
pub(super) struct Asking<'a> {
    pub(super) server: Option<&'a str>,
    pub(super) key: Option<&'a str>,
    pub(super) form: ElicitRequestParams,
}

/// The questions that have no answer yet.
#[derive(Default)]
struct Open {
    last: u64,
    /// The keys that were given. One that comes late answers no other question.
    given: BTreeSet<String>,
    early: Early,
    questions: BTreeMap<String, (ElicitRequestParams, oneshot::Sender<ElicitResult>)>,
}

impl Early {
    fn answer(&mut self, server: Option<&str>, key: Option<&str>) -> Option<ElicitResult> {
        let is_theirs = server == Some(self.server.as_str());
        key.filter(|_| is_theirs).and_then(|key| self.answers.remove(key)).and_then(answer)
    }
}

impl Open {
    /// The key of a question: the wanted one where it is a plain name and no other question has had it, else one of ours.
    fn key(&mut self, wanted: Option<&str>) -> String {
        let is_plain = |key: &&str| {
            (1..=MAX_KEY_CHARS).contains(&key.len())
                && key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
        };
        let mut key = wanted.filter(is_plain).map(str::to_owned);
        loop {
            let wanted = key.take().unwrap_or_else(|| {
                self.last += 1;
                format!("question_{}", self.last)
            });
            if self.given.insert(wanted.clone()) {
                return wanted;
            }
        }
    }
}

/// A question that waits, and is taken back when nobody waits for its answer any more.
struct Waiting {
    desk: Arc<Desk>,
    key: String,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.desk.open().questions.remove(&self.key);
    }
}

impl Desk {
    pub(crate) fn new(way: Way, early: Early) -> Arc<Self> {
        let open = Mutex::new(Open { early, ..Open::default() });
        Arc::new(Self { way, open, asked: Notify::new(), left: AtomicBool::new(false) })
    }

    /// The desk of the call that asks, where a client made it that can ask its user.
    pub(super) fn current() -> Option<Arc<Self>> {
        CURRENT.try_with(Arc::clone).ok().filter(|desk| !desk.is_left())
    }

    /// Notes that the client waits for the call no longer. Where it was to come back with the answers, it is asked nothing
    /// more, and what is open has no answer.
    pub(crate) fn leave(&self) {
        if matches!(self.way, Way::Results) {
            self.left.store(true, Ordering::Release);
            let open = std::mem::take(&mut self.open().questions);
            drop(open);
        }
    }

    pub(super) fn is_left(&self) -> bool {
        self.left.load(Ordering::Acquire)
    }

    /// Runs a call whose questions are put here.
    pub(crate) fn serve<T>(self: Arc<Self>, call: impl Future<Output = T>) -> impl Future<Output = T> {
        CURRENT.scope(self, call)
    }

    /// Puts questions, all of them before any is answered. `None` is no answer.
    pub(super) fn ask(
        self: &Arc<Self>,
        questions: Vec<Asking<'_>>,
    ) -> Vec<BoxFuture<'static, Option<ElicitResult>>> {
        match &self.way {
            Way::Requests(peer) => {
                let ask = |question: Asking<'_>| elicit(peer.clone(), question.form).boxed();
                questions.into_iter().map(ask).collect()
            }
            Way::Results => {
                let replies = questions.into_iter().map(|question| self.put(question)).collect();
                self.asked.notify_one();
                replies
            }
        }
    }

    fn put(self: &Arc<Self>, question: Asking<'_>) -> BoxFuture<'static, Option<ElicitResult>> {
        let Asking { server, key, form } = question;
        let mut open = self.open();
        if let Some(result) = open.early.answer(server, key) {
            return futures::future::ready(Some(result)).boxed();
        }
        if open.questions.len() >= MAX_QUESTIONS || self.is_left() {
            return futures::future::ready(None).boxed();
        }
        let key = open.key(key);
        let (sender, receiver) = oneshot::channel();
        open.questions.insert(key.clone(), (form, sender));
        let waiting = Waiting { desk: Arc::clone(self), key };
        async move {
            let _waiting = waiting;
            tokio::time::timeout(APPROVAL_PATIENCE, receiver).await.ok()?.ok()
        }
        .boxed()
    }

    /// Waits until something is asked that the client has to be told of.
    pub(crate) async fn wanted(&self) {
        self.asked.notified().await;
    }

    /// What the client is to ask; nothing where nothing is open.
    pub(crate) fn wants(&self) -> Option<InputRequests> {
        let open = self.open();
        let requests: InputRequests = open
            .questions
            .iter()
            .map(|(key, (question, _))| {
                (key.clone(), InputRequest::Elicitation(ElicitRequest::new(question.clone())))
            })
            .collect();
        (!requests.is_empty()).then_some(requests)
    }

    /// Takes what the client sends. What is no answer, or answers nothing, is left out.
    pub(crate) fn answered(&self, responses: InputResponses) {
        let mut open = self.open();
        for (key, response) in responses {
            let Some(result) = answer(response) else { continue };
            if let Some((_, sender)) = open.questions.remove(&key) {
                // Whoever asked may have given up.
                let _ = sender.send(result);
            }
        }
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Asks a client by a request of ours. Dropped before the answer, the request is cancelled, so that the client withdraws its
/// question.
async fn elicit(peer: Peer<RoleServer>, form: ElicitRequestParams) -> Option<ElicitResult> {
    let request = ServerRequest::ElicitRequest(ElicitRequest::new(form));
    let options = PeerRequestOptions::with_timeout(APPROVAL_PATIENCE);
    let sent = peer.send_cancellable_request(request, options).await.ok()?;
    let mut cancellation = Cancellation { peer, request: Some(sent.id.clone()) };
    let response = sent.await_response().await;
    cancellation.request = None;
    match response.ok()? {
        ClientResult::ElicitResult(result) => Some(result),
        _ => None,
    }
}

/// Cancels a request when it is dropped.
struct Cancellation {
    peer: Peer<RoleServer>,
    request: Option<RequestId>,
}

impl Drop for Cancellation {
    fn drop(&mut self) {
        // A process that ends closes its connections, which says the same.
        let (Some(id), Ok(runtime)) = (self.request.take(), tokio::runtime::Handle::try_current()) else {
            return;
        };
        let peer = self.peer.clone();
        runtime.spawn(async move {
            let reason = "the question was answered elsewhere, or its call was given up";
            let cancelled = CancelledNotificationParam::new(Some(id), Some(reason.to_owned()));
            // A client that is gone has withdrawn its question.
            let _ = peer.notify_cancelled(cancelled).await;
        });
    }
}

/// What a client sends, where it is an answer.
fn answer(response: Value) -> Option<ElicitResult> {
    ElicitResult::deserialize(response).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_has_the_key_that_its_asker_has_for_it_unless_that_was_given_or_is_no_name() {
        let mut open = Open::default();
        let long = "x".repeat(MAX_KEY_CHARS + 1);
        for (wanted, key) in [
            (Some("user_name"), "user_name"),
            (Some("user_name"), "question_1"),
            (None, "question_2"),
            (Some("question_3"), "question_3"),
            (None, "question_4"),
            (Some("a key\u{202e}"), "question_5"),
            (Some(""), "question_6"),
            (Some(long.as_str()), "question_7"),
        ] {
            assert_eq!(open.key(wanted), key, "{wanted:?}");
        }
    }
}
