//! The elicitation session of one call: its open questions and their answers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use rmcp::RoleServer;
use rmcp::model::{
    CancelledNotificationParam, ClientResult, CustomNotification, ElicitRequest, ElicitRequestParams,
    ElicitResult, InputRequest, InputRequests, InputResponses, RequestId, ServerNotification, ServerRequest,
};
use rmcp::service::{Peer, PeerRequestOptions};
use serde::Deserialize as _;
use serde_json::{Value, json};
use tokio::sync::{Notify, oneshot};
use toolcrib_model::{UserAnswer, UserQuestion};
use toolcrib_port::{Answer, ApprovalRequest, ClientPrompter};

use super::form;

/// The time in which the user of a client has to answer. The code that waits for the answer may give up earlier.
pub(crate) const APPROVAL_PATIENCE: Duration = Duration::from_mins(30);

/// The maximum number of open questions of one call.
pub const MAX_QUESTIONS: usize = 64;

/// The notification that the interaction at a page has ended. Revision 2026-07-28 does not have it.
const PAGE_ENDED: &str = "notifications/elicitation/complete";

/// The maximum length of a question key that a server chose, in characters.
const MAX_KEY_CHARS: usize = 64;

/// The channel through which a client is asked.
pub(crate) enum ElicitationMode {
    /// Elicitation requests from this server.
    Requests(Peer<RoleServer>),
    /// Questions in place of the result.
    Results,
}

/// The kinds of questions that a client can put to its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ElicitationKinds {
    /// Forms to fill in.
    pub(crate) forms: bool,
    /// Pages to open.
    pub(crate) pages: bool,
}

/// The elicitation session of one call.
pub(crate) struct ElicitationSession {
    mode: ElicitationMode,
    kinds: ElicitationKinds,
    open: Arc<Mutex<OpenQuestions>>,
    question_added: Notify,
    /// The ids of the pages that the client was asked to open, by their links.
    pages: Mutex<BTreeMap<String, String>>,
    /// Set when the client no longer waits for the call and cannot receive questions in place of its result.
    abandoned: AtomicBool,
}

/// Answers that came with the call, before any question was asked. They apply only to the server whose tool was called,
/// and only to questions for which it chose a key. They never approve a call, because the user gave them before seeing
/// it.
#[derive(Default)]
pub(crate) struct EarlyAnswers {
    pub(crate) server: String,
    pub(crate) answers: InputResponses,
}

/// A question, with the server that asks it and the key that the server chose.
struct FormRequest<'a> {
    server: Option<&'a str>,
    key: Option<&'a str>,
    form: ElicitRequestParams,
}

/// The questions that have no answer yet.
#[derive(Default)]
struct OpenQuestions {
    last: u64,
    /// The keys that were used. A late answer cannot match another question.
    used_keys: BTreeSet<String>,
    early: EarlyAnswers,
    questions: BTreeMap<String, (ElicitRequestParams, oneshot::Sender<ElicitResult>)>,
}

impl EarlyAnswers {
    fn answer(&mut self, server: Option<&str>, key: Option<&str>) -> Option<ElicitResult> {
        let is_theirs = server == Some(self.server.as_str());
        key.filter(|_| is_theirs).and_then(|key| self.answers.remove(key)).and_then(answer)
    }
}

impl OpenQuestions {
    /// Returns the key of a question: the wanted key if it is a plain name that no other question has used, or a
    /// generated one.
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
            if self.used_keys.insert(wanted.clone()) {
                return wanted;
            }
        }
    }
}

/// Withdraws a question when dropped, because its asker no longer waits.
struct OpenQuestionGuard {
    open: Arc<Mutex<OpenQuestions>>,
    key: String,
}

impl Drop for OpenQuestionGuard {
    fn drop(&mut self) {
        self.open.lock().questions.remove(&self.key);
    }
}

impl ElicitationSession {
    pub(crate) fn new(mode: ElicitationMode, kinds: ElicitationKinds, early: EarlyAnswers) -> Arc<Self> {
        let open = Mutex::new(OpenQuestions { early, ..OpenQuestions::default() });
        Arc::new(Self {
            mode,
            kinds,
            open: Arc::new(open),
            question_added: Notify::new(),
            pages: Mutex::default(),
            abandoned: AtomicBool::new(false),
        })
    }

    /// Marks the call as abandoned by its client. If the client receives questions in place of results, it gets no
    /// further ones, and the open questions stay unanswered.
    pub(crate) fn abandon(&self) {
        if matches!(self.mode, ElicitationMode::Results) {
            self.abandoned.store(true, Ordering::Release);
            let open = std::mem::take(&mut self.open.lock().questions);
            drop(open);
        }
    }

    fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::Acquire)
    }

    /// Asks all questions before any is answered. `None` means that there was no answer.
    fn ask_forms(&self, questions: Vec<FormRequest<'_>>) -> Vec<BoxFuture<'static, Option<ElicitResult>>> {
        match &self.mode {
            ElicitationMode::Requests(peer) => {
                let ask = |question: FormRequest<'_>| elicit(peer.clone(), question.form).boxed();
                questions.into_iter().map(ask).collect()
            }
            ElicitationMode::Results => {
                let replies = questions.into_iter().map(|question| self.enqueue(question)).collect();
                self.question_added.notify_one();
                replies
            }
        }
    }

    fn enqueue(&self, question: FormRequest<'_>) -> BoxFuture<'static, Option<ElicitResult>> {
        let FormRequest { server, key, form } = question;
        let mut open = self.open.lock();
        if let Some(result) = open.early.answer(server, key) {
            return futures::future::ready(Some(result)).boxed();
        }
        if open.questions.len() >= MAX_QUESTIONS || self.is_abandoned() {
            return futures::future::ready(None).boxed();
        }
        let key = open.key(key);
        let (sender, receiver) = oneshot::channel();
        open.questions.insert(key.clone(), (form, sender));
        let waiting = OpenQuestionGuard { open: Arc::clone(&self.open), key };
        async move {
            let _waiting = waiting;
            tokio::time::timeout(APPROVAL_PATIENCE, receiver).await.ok()?.ok()
        }
        .boxed()
    }

    /// Waits until there is a question for the client.
    pub(crate) async fn wait_for_question(&self) {
        self.question_added.notified().await;
    }

    /// Returns the open questions for the client, or `None` if there are no open questions.
    pub(crate) fn open_questions(&self) -> Option<InputRequests> {
        let open = self.open.lock();
        let requests: InputRequests = open
            .questions
            .iter()
            .map(|(key, (question, _))| {
                (key.clone(), InputRequest::Elicitation(ElicitRequest::new(question.clone())))
            })
            .collect();
        (!requests.is_empty()).then_some(requests)
    }

    /// Accepts the responses of the client. Ignores those that are not valid answers or that match no open question.
    pub(crate) fn accept_answers(&self, responses: InputResponses) {
        let mut open = self.open.lock();
        for (key, response) in responses {
            let Some(result) = answer(response) else { continue };
            if let Some((_, sender)) = open.questions.remove(&key) {
                // The asker may have given up.
                let _ = sender.send(result);
            }
        }
    }
}

#[async_trait]
impl ClientPrompter for ElicitationSession {
    async fn ask(&self, batch: &mut [ApprovalRequest]) -> bool {
        let forms = batch.iter().map(|asked| form::of_call(asked.question())).collect::<Option<Vec<_>>>();
        let Some(forms) = forms.filter(|_| self.kinds.forms && !self.is_abandoned()) else { return false };
        let questions = forms.into_iter().map(|form| FormRequest { server: None, key: None, form }).collect();
        let asked = self.ask_forms(questions);
        // Each answer is stored as it arrives, so that the answers before a timeout count.
        let answering = batch.iter_mut().zip(asked).map(async |(asked, reply)| {
            asked.answer = Some(match reply.await {
                Some(result) => form::answer_of_call(asked.question(), &result),
                None => Answer::Nobody,
            });
        });
        futures::future::join_all(answering).await;
        true
    }

    async fn ask_user(&self, question: &UserQuestion) -> Option<UserAnswer> {
        if self.is_abandoned() {
            return None;
        }
        let page = question.link.as_ref().filter(|_| self.kinds.pages);
        if page.is_none() && !self.kinds.forms {
            return None;
        }
        let form = match page {
            Some(url) => Some(form::of_page(question, url).ok()?),
            None => form::of_user(question),
        };
        let Some(form) = form else { return Some(UserAnswer::Nobody) };
        if let ElicitRequestParams::UrlElicitationParams { url, elicitation_id, .. } = &form {
            let mut pages = self.pages.lock();
            if pages.len() < MAX_QUESTIONS {
                pages.insert(url.clone(), elicitation_id.clone());
            }
        }
        let asking = FormRequest { server: question.server.as_deref(), key: question.key.as_deref(), form };
        let reply = self.ask_forms(vec![asking]).pop()?;
        Some(match reply.await {
            Some(result) => form::answer_of_user(question, &result),
            None => UserAnswer::Nobody,
        })
    }

    async fn page_ended(&self, link: &str) {
        let id = self.pages.lock().remove(link);
        let (Some(id), ElicitationMode::Requests(peer)) = (id, &self.mode) else { return };
        let ended = CustomNotification::new(PAGE_ENDED, Some(json!({"elicitationId": id})));
        // A client that has disconnected does not show the page any more.
        let _ = peer.send_notification(ServerNotification::CustomNotification(ended)).await;
    }
}

/// Asks a client by an elicitation request. If the future is dropped before the answer, the request is cancelled, so
/// that the client withdraws its question.
async fn elicit(peer: Peer<RoleServer>, form: ElicitRequestParams) -> Option<ElicitResult> {
    let request = ServerRequest::ElicitRequest(ElicitRequest::new(form));
    let options = PeerRequestOptions::with_timeout(APPROVAL_PATIENCE);
    let sent = peer.send_cancellable_request(request, options).await.ok()?;
    let mut cancellation = CancelOnDrop { peer, request: Some(sent.id.clone()) };
    let response = sent.await_response().await;
    cancellation.request = None;
    match response.ok()? {
        ClientResult::ElicitResult(result) => Some(result),
        _ => None,
    }
}

/// Cancels a request when dropped.
struct CancelOnDrop {
    peer: Peer<RoleServer>,
    request: Option<RequestId>,
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        // A process that ends closes its connections, which has the same effect.
        let (Some(id), Ok(runtime)) = (self.request.take(), tokio::runtime::Handle::try_current()) else {
            return;
        };
        let peer = self.peer.clone();
        runtime.spawn(async move {
            let reason = "the question was answered elsewhere, or its call was given up";
            let cancelled = CancelledNotificationParam::new(Some(id), Some(reason.to_owned()));
            // A client that has disconnected has withdrawn its question.
            let _ = peer.notify_cancelled(cancelled).await;
        });
    }
}

/// Parses a response of a client, or returns `None` if it is not an answer.
fn answer(response: Value) -> Option<ElicitResult> {
    ElicitResult::deserialize(response).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_has_the_key_that_its_asker_has_for_it_unless_that_was_given_or_is_no_name() {
        let mut open = OpenQuestions::default();
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
