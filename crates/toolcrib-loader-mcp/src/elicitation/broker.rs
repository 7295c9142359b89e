//! The broker for elicitation: passes questions of the server to the user, limited in number and time, on behalf of the
//! active calls.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use rmcp::model::{
    ElicitRequestParams, ElicitResult, ElicitationAction, ErrorCode, ErrorData, InputRequest, InputRequests,
    InputResponses,
};
use tokio::sync::watch;
use tokio::time::timeout;
use toolcrib_model::{ErrorKind, ToolError, UserAnswer};
use toolcrib_port::{CallContext, PhaseTracker};

use super::Question;
use super::reply::Reply;

/// The largest number of questions that a server may ask in one call.
pub(crate) const MAX_QUESTIONS: usize = 8;

/// The time that the user has for an answer.
const ANSWER_TIMEOUT: Duration = Duration::from_mins(5);

/// The number of times that a question is asked until its answer is valid.
const MAX_ATTEMPTS: usize = 3;

/// The broker between a server that asks and the user who answers. It reaches the user through the approver in the context
/// of a call.
pub(crate) struct ElicitationBroker {
    /// The name of the server for the user.
    server: Arc<str>,
    /// True if calls have a user to ask.
    has_user: AtomicBool,
    /// The active calls.
    calls: watch::Sender<Vec<Arc<ActiveCall>>>,
}

/// An active call.
struct ActiveCall {
    context: CallContext,
    questions: AtomicUsize,
}

/// The calls on whose behalf a question is asked.
struct QuestionOrigin {
    /// The context that they have in common.
    context: CallContext,
    /// The phases of the calls that wait for the answer.
    phases: Vec<PhaseTracker>,
}

/// An active call for which the server may ask questions. It ends when it is dropped.
pub(crate) struct CallElicitation<'a> {
    broker: &'a ElicitationBroker,
    call: Arc<ActiveCall>,
}

impl Drop for CallElicitation<'_> {
    fn drop(&mut self) {
        self.broker.calls.send_modify(|calls| calls.retain(|call| !Arc::ptr_eq(call, &self.call)));
    }
}

impl ActiveCall {
    /// Counts a question. Returns false if the limit is exceeded.
    fn count_question(&self) -> bool {
        self.questions.fetch_add(1, Ordering::Relaxed) < MAX_QUESTIONS
    }

    fn origin(&self) -> QuestionOrigin {
        QuestionOrigin { context: self.context.clone(), phases: vec![self.context.phase.clone()] }
    }
}

impl ElicitationBroker {
    /// Creates a broker for a server with this name. It asks no user until [`set_has_user`](Self::set_has_user).
    pub(crate) fn new(server: &str) -> Self {
        Self { server: server.into(), has_user: AtomicBool::new(false), calls: watch::Sender::default() }
    }

    /// Records if calls have a user to ask, which the handshake tells the server.
    pub(crate) fn set_has_user(&self, has_user: bool) {
        self.has_user.store(has_user, Ordering::Relaxed);
    }

    /// Returns true if calls have a user to ask.
    pub(crate) fn has_user(&self) -> bool {
        self.has_user.load(Ordering::Relaxed)
    }

    /// Registers an active call for which the server may ask questions.
    pub(crate) fn begin_call(&self, context: &CallContext) -> CallElicitation<'_> {
        let call = Arc::new(ActiveCall { context: context.clone(), questions: AtomicUsize::new(0) });
        // Without a user, the list of active calls is not needed.
        if self.has_user() {
            self.calls.send_modify(|calls| calls.push(Arc::clone(&call)));
        }
        CallElicitation { broker: self, call }
    }

    /// Answers an elicitation request of the server. The request does not name its call; if the call is ambiguous, the
    /// user is not asked.
    pub(crate) async fn answer_request(
        &self,
        params: &ElicitRequestParams,
    ) -> Result<ElicitResult, ErrorData> {
        let error = |code, problem: &str| ErrorData::new(code, problem.to_owned(), None);
        let question =
            Question::read(params).map_err(|problem| error(ErrorCode::INVALID_PARAMS, &problem))?;
        let mut calls = self.calls.subscribe();
        let origin = {
            let calls = calls.borrow();
            if !calls.iter().all(|call| call.count_question()) {
                let problem = format!("at most {MAX_QUESTIONS} questions are asked in one call");
                return Err(error(ErrorCode::INVALID_REQUEST, &problem));
            }
            QuestionOrigin::common(&calls)
        };
        let Some(origin) = origin else {
            let problem = "no call of one user runs that the question could belong to";
            return Err(error(ErrorCode::INVALID_REQUEST, problem));
        };
        tokio::select! {
            biased;
            result = origin.ask_with_timeout(&self.server, &question, None) => {
                Ok(result.unwrap_or_else(|| ElicitResult::new(ElicitationAction::Cancel)))
            }
            // No call waits for the answer any more.
            _ = calls.wait_for(Vec::is_empty) => Ok(ElicitResult::new(ElicitationAction::Cancel)),
        }
    }
}

impl CallElicitation<'_> {
    /// Answers the input requests that the server returned in place of the call's result.
    pub(crate) async fn answers(&self, requests: InputRequests) -> Result<InputResponses, ToolError> {
        let mut responses = BTreeMap::new();
        for (key, request) in requests {
            let result = match request {
                InputRequest::Elicitation(request) => self.answer(Some(&key), &request.params).await?,
                _ => return Err(invalid_question("it asks for something other than an answer of the user")),
            };
            responses.insert(key, serde_json::to_value(result).unwrap_or_default());
        }
        Ok(responses)
    }

    /// Answers one question, with the server's key for it.
    pub(crate) async fn answer(
        &self,
        key: Option<&str>,
        params: &ElicitRequestParams,
    ) -> Result<ElicitResult, ToolError> {
        if !self.broker.has_user() {
            return Err(no_user());
        }
        let question = Question::read(params).map_err(|problem| invalid_question(&problem))?;
        if !self.call.count_question() {
            return Err(invalid_question(&format!("at most {MAX_QUESTIONS} are asked in one call")));
        }
        let origin = self.call.origin();
        origin.ask_with_timeout(&self.broker.server, &question, key).await.ok_or_else(no_user)
    }
}

impl QuestionOrigin {
    /// Returns the common origin of the calls. It is `None` if their sessions differ, and it has a client to ask only
    /// if all calls have the same: one user must not answer for another.
    fn common(calls: &[Arc<ActiveCall>]) -> Option<Self> {
        let mut context = calls.first()?.context.clone();
        for ActiveCall { context: other, .. } in calls.iter().map(Arc::as_ref) {
            if other.session != context.session {
                return None;
            }
            context.agent = context.agent.filter(|agent| other.agent.as_ref() == Some(agent));
            let is_same =
                |client: &Arc<_>| other.reply_to.as_ref().is_some_and(|other| Arc::ptr_eq(client, other));
            context.reply_to = context.reply_to.filter(is_same);
        }
        Some(Self { context, phases: calls.iter().map(|call| call.context.phase.clone()).collect() })
    }

    /// Asks until the answer is valid. Returns `None` if there is no user.
    async fn ask_with_timeout(
        &self,
        server: &Arc<str>,
        question: &Question,
        key: Option<&str>,
    ) -> Option<ElicitResult> {
        let _waiting: Vec<_> = self.phases.iter().map(PhaseTracker::wait_for_person).collect();
        let cancelled = ElicitResult::new(ElicitationAction::Cancel);
        timeout(ANSWER_TIMEOUT, self.ask(server, question, key)).await.unwrap_or(Some(cancelled))
    }

    async fn ask(&self, server: &Arc<str>, question: &Question, key: Option<&str>) -> Option<ElicitResult> {
        let approver = self.context.approver.as_ref()?;
        let mut user_question = question.for_user(&self.context.session);
        user_question.key = key.map(str::to_owned);
        user_question.agent.clone_from(&self.context.agent);
        user_question.server = Some(Arc::clone(server));
        let text = user_question.question.clone();
        for _ in 0..MAX_ATTEMPTS {
            let problem = match approver.ask_user(&user_question, &self.context).await {
                UserAnswer::Nobody => return None,
                UserAnswer::Denied(_) => return Some(ElicitResult::new(ElicitationAction::Decline)),
                UserAnswer::Approved { choice, fields, .. } => {
                    match question.reply(choice.as_deref(), &fields) {
                        Ok(Reply::Accept(content)) => {
                            let mut result = ElicitResult::new(ElicitationAction::Accept);
                            result.content = content;
                            return Some(result);
                        }
                        Ok(Reply::Decline) => return Some(ElicitResult::new(ElicitationAction::Decline)),
                        Err(problem) => problem,
                    }
                }
            };
            user_question.question = format!("That answer is not valid: {problem}.\n\n{text}");
        }
        Some(ElicitResult::new(ElicitationAction::Cancel))
    }
}

/// Returns the error of a call that needs an answer when there is no user.
pub(crate) fn no_user() -> ToolError {
    let message = "the server needs an answer from the user to continue, and there is no way to ask for it";
    ToolError::new(ErrorKind::InputRequired, message)
        .with_hint("ask the user yourself, and give the answer in the arguments if the tool takes it there")
}

/// Returns the error of a call that needs an answer to an invalid question.
pub(crate) fn invalid_question(problem: &str) -> ToolError {
    let message =
        format!("the server needs an answer from the user, and its question cannot be asked: {problem}");
    ToolError::new(ErrorKind::InputRequired, message)
        .with_hint("this is a fault in the server; do without the tool, or tell the user")
}
