//! Where questions are put: whom to ask, for which calls, how often and how long.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use rmcp::model::{
    ElicitRequestParams, ElicitResult, ElicitationAction, ErrorCode, ErrorData, InputRequest, InputRequests,
    InputResponses,
};
use tokio::sync::watch;
use tokio::time::timeout;
use toolcrib_model::{ErrorKind, ToolError, UserAnswer};
use toolcrib_port::{Approver, CallContext, PhaseTracker};

use super::Question;
use super::question::Reply;

/// How many questions a server may ask the user in one call.
pub const MAX_QUESTIONS: usize = 8;

/// How long the user may take for one.
pub const ANSWER_PATIENCE: Duration = Duration::from_mins(5);

/// How often an answer that does not fit is asked for again.
const MAX_ATTEMPTS: usize = 3;

/// Where a server's questions are put.
#[derive(Default)]
pub(crate) struct Desk {
    attendant: RwLock<Option<Attendant>>,
    /// The calls that run.
    running: watch::Sender<Vec<Arc<Running>>>,
}

/// Whom to ask, and the name of the server that asks.
#[derive(Clone)]
struct Attendant {
    approver: Arc<dyn Approver>,
    server: Arc<str>,
}

/// A call that runs, and on whose behalf.
struct Running {
    session: Arc<str>,
    agent: Option<Arc<str>>,
    phase: PhaseTracker,
    asked: AtomicUsize,
}

/// On whose behalf something is asked.
struct Asker {
    session: Arc<str>,
    agent: Option<Arc<str>>,
    /// The stages of the calls that wait for the answer.
    phases: Vec<PhaseTracker>,
}

/// A call for which questions can be put, while this is there.
pub(crate) struct OnCall<'a> {
    desk: &'a Desk,
    running: Arc<Running>,
}

impl Drop for OnCall<'_> {
    fn drop(&mut self) {
        self.desk.running.send_modify(|all| all.retain(|one| !Arc::ptr_eq(one, &self.running)));
    }
}

impl Running {
    /// Counts a question; whether there may be one more.
    fn may_ask(&self) -> bool {
        self.asked.fetch_add(1, Ordering::Relaxed) < MAX_QUESTIONS
    }

    fn asker(&self) -> Asker {
        Asker {
            session: Arc::clone(&self.session),
            agent: self.agent.clone(),
            phases: vec![self.phase.clone()],
        }
    }
}

impl Desk {
    /// Says whom to ask, and how the server is called that does.
    pub(crate) fn attend(&self, approver: Arc<dyn Approver>, server: &str) {
        let attendant = Attendant { approver, server: server.into() };
        *self.attendant.write().unwrap_or_else(PoisonError::into_inner) = Some(attendant);
    }

    fn attendant(&self) -> Option<Attendant> {
        let attendant = self.attendant.read().unwrap_or_else(PoisonError::into_inner);
        attendant.as_ref().filter(|attendant| attendant.approver.has_user()).cloned()
    }

    /// Whether there is somebody to ask.
    pub(crate) fn is_attended(&self) -> bool {
        self.attendant().is_some()
    }

    /// Notes a call for which questions can be put.
    pub(crate) fn begin(&self, context: &CallContext) -> OnCall<'_> {
        let running = Arc::new(Running {
            session: Arc::clone(&context.session),
            agent: context.agent.clone(),
            phase: context.phase.clone(),
            asked: AtomicUsize::new(0),
        });
        // Without anybody to ask, nobody looks for it.
        if self.is_attended() {
            self.running.send_modify(|all| all.push(Arc::clone(&running)));
        }
        OnCall { desk: self, running }
    }

    /// Answers a request of the server. It does not say for which call it is; where that cannot be told, nobody is asked.
    pub(crate) async fn asked(&self, params: &ElicitRequestParams) -> Result<ElicitResult, ErrorData> {
        let refused = |code, problem: &str| ErrorData::new(code, problem.to_owned(), None);
        let Some(attendant) = self.attendant() else {
            return Err(refused(ErrorCode::METHOD_NOT_FOUND, "there is nobody to ask"));
        };
        let question =
            Question::read(params).map_err(|problem| refused(ErrorCode::INVALID_PARAMS, &problem))?;
        let mut running = self.running.subscribe();
        let asker = {
            let calls = running.borrow();
            if !calls.iter().all(|call| call.may_ask()) {
                let problem = format!("at most {MAX_QUESTIONS} questions are asked in one call");
                return Err(refused(ErrorCode::INVALID_REQUEST, &problem));
            }
            Asker::of_all(&calls)
        };
        let Some(asker) = asker else {
            let problem = "no call of one user runs that the question could be for";
            return Err(refused(ErrorCode::INVALID_REQUEST, problem));
        };
        tokio::select! {
            biased;
            result = attendant.put(&question, None, &asker) => {
                Ok(result.unwrap_or_else(|| ElicitResult::new(ElicitationAction::Cancel)))
            }
            // Nobody waits for the answer any more.
            _ = running.wait_for(Vec::is_empty) => Ok(ElicitResult::new(ElicitationAction::Cancel)),
        }
    }
}

impl OnCall<'_> {
    /// Answers what stands in the place of the result of this call.
    pub(crate) async fn answers(&self, requests: InputRequests) -> Result<InputResponses, ToolError> {
        let mut responses = BTreeMap::new();
        for (key, request) in requests {
            let result = match request {
                InputRequest::Elicitation(request) => self.answer(Some(&key), &request.params).await?,
                _ => return Err(unfit("it wants something else than an answer of the user")),
            };
            responses.insert(key, serde_json::to_value(result).unwrap_or_default());
        }
        Ok(responses)
    }

    /// Answers one question, by what the server calls it.
    pub(crate) async fn answer(
        &self,
        key: Option<&str>,
        params: &ElicitRequestParams,
    ) -> Result<ElicitResult, ToolError> {
        let attendant = self.desk.attendant().ok_or_else(nobody)?;
        let question = Question::read(params).map_err(|problem| unfit(&problem))?;
        if !self.running.may_ask() {
            return Err(unfit(&format!("at most {MAX_QUESTIONS} are asked in one call")));
        }
        attendant.put(&question, key, &self.running.asker()).await.ok_or_else(nobody)
    }
}

impl Asker {
    /// On whose behalf the calls are, when it is the same for all: one user must not answer for another.
    fn of_all(calls: &[Arc<Running>]) -> Option<Self> {
        let first = calls.first()?;
        let is_one = calls.iter().all(|call| call.session == first.session);
        let is_agent = calls.iter().all(|call| call.agent == first.agent);
        is_one.then(|| Self {
            session: Arc::clone(&first.session),
            agent: first.agent.clone().filter(|_| is_agent),
            phases: calls.iter().map(|call| call.phase.clone()).collect(),
        })
    }
}

impl Attendant {
    /// Puts a question until there is an answer that fits; `None` when there is nobody.
    async fn put(&self, question: &Question, key: Option<&str>, asker: &Asker) -> Option<ElicitResult> {
        let _waiting: Vec<_> = asker.phases.iter().map(PhaseTracker::wait_for_person).collect();
        let cancelled = ElicitResult::new(ElicitationAction::Cancel);
        timeout(ANSWER_PATIENCE, self.ask(question, key, asker)).await.unwrap_or(Some(cancelled))
    }

    async fn ask(&self, question: &Question, key: Option<&str>, asker: &Asker) -> Option<ElicitResult> {
        let mut put = question.for_user(&asker.session);
        put.key = key.map(str::to_owned);
        put.agent.clone_from(&asker.agent);
        put.server = Some(Arc::clone(&self.server));
        let text = put.question.clone();
        for _ in 0..MAX_ATTEMPTS {
            let problem = match self.approver.ask_user(&put).await {
                UserAnswer::Nobody => return None,
                UserAnswer::Denied(_) => return Some(ElicitResult::new(ElicitationAction::Decline)),
                UserAnswer::Approved { choice, fields, .. } => {
                    match question.reply(choice.as_deref(), &fields) {
                        Ok(Reply::Yes(content)) => {
                            let mut result = ElicitResult::new(ElicitationAction::Accept);
                            result.content = content;
                            return Some(result);
                        }
                        Ok(Reply::No) => return Some(ElicitResult::new(ElicitationAction::Decline)),
                        Err(problem) => problem,
                    }
                }
            };
            put.question = format!("That is no answer to it: {problem}.\n\n{text}");
        }
        Some(ElicitResult::new(ElicitationAction::Cancel))
    }
}

/// Why a call ends that needs an answer which nobody can give.
pub(crate) fn nobody() -> ToolError {
    let message =
        "the server wants an answer from the user before it goes on, and there is no way to ask for it";
    ToolError::new(ErrorKind::InputRequired, message)
        .with_hint("ask the user yourself, and give the answer in the arguments if the tool takes it there")
}

/// Why a call ends that needs an answer to something that cannot be asked.
pub(crate) fn unfit(problem: &str) -> ToolError {
    let message =
        format!("the server wants an answer from the user, and its question cannot be put: {problem}");
    ToolError::new(ErrorKind::InputRequired, message)
        .with_hint("this is a fault in the server; do without the tool, or tell the user")
}
