//! Asking a person, for a bounded time.

use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;
use toolcrib_model::{ErrorKind, JsonObject, ToolError};
use toolcrib_policy::{Approval, Approvals, PendingCall, Policy};
use toolcrib_port::{Answer, Approver, Asked, CallContext};

use crate::caught::caught;
use crate::explain;
use crate::judge::{Judged, State};

/// How often an edit that does not fit is given back to the person, before the call is denied.
pub(crate) const MAX_EDITS: usize = 5;

/// What it takes to get answers.
pub(crate) struct Asking<'a> {
    pub(crate) approver: &'a dyn Approver,
    pub(crate) approvals: &'a Approvals,
    pub(crate) policy: &'a Policy,
    /// How long all answers together may take.
    pub(crate) patience: Duration,
}

/// A call that waits, and why the last answer was not taken.
struct Waiting<'a> {
    judged: &'a mut Judged,
    pending: PendingCall,
    problem: Option<String>,
}

impl Asking<'_> {
    /// Asks about all calls that need it, together, until each is ready or over. Only an answer that names a call lets
    /// it through. What was answered before the time was over counts.
    pub(crate) async fn ask(&self, calls: impl Iterator<Item = &mut Judged>, context: &CallContext) {
        let mut waiting: Vec<_> = calls.filter_map(|judged| self.recall(judged)).collect();
        let end = Instant::now() + self.patience;
        for _ in 0..=MAX_EDITS {
            if waiting.is_empty() {
                return;
            }
            let mut batch: Vec<_> = waiting.iter().map(|call| call.asked(context)).collect();
            let _person = context.phase.wait_for_person();
            let left_without = tokio::select! {
                biased;
                () = context.cancel.cancelled() => Unanswered::Cancelled,
                done = tokio::time::timeout_at(end, caught(self.approver.ask(&mut batch))) => match done {
                    Ok(Some(())) => Unanswered::Nobody,
                    Ok(None) => Unanswered::Fault,
                    Err(_) => Unanswered::Late(self.patience),
                },
            };
            let answered = waiting.into_iter().zip(batch);
            waiting =
                answered.filter_map(|(call, asked)| self.settle(call, asked.answer, &left_without)).collect();
        }
        for call in waiting {
            let message = format!("the arguments that the user wrote for `{}` did not fit", call.tool());
            call.judged.state = State::Failed(denied(message));
        }
    }

    /// Lets a call through that an earlier answer covers; gives it back when somebody has to be asked.
    fn recall<'a>(&self, judged: &'a mut Judged) -> Option<Waiting<'a>> {
        let pending = match std::mem::replace(&mut judged.state, State::Taken) {
            State::Ask(pending) => *pending,
            other => {
                judged.state = other;
                return None;
            }
        };
        match self.approvals.recall(pending) {
            Ok(authorized) => {
                judged.state = State::Ready(authorized);
                None
            }
            Err(pending) => Some(Waiting { judged, pending: *pending, problem: None }),
        }
    }

    /// Takes an answer; gives the call back when it has to be asked about again.
    fn settle<'a>(
        &self,
        call: Waiting<'a>,
        answer: Option<Answer>,
        left_without: &Unanswered,
    ) -> Option<Waiting<'a>> {
        let tool = call.tool();
        let error = match answer {
            Some(Answer::Approved(approval)) => return self.approved(call, &approval),
            Some(Answer::Denied(None)) => denied(format!("the user denied the call of `{tool}`")),
            Some(Answer::Denied(Some(said))) => {
                denied(format!("the user denied the call of `{tool}` and said: {said}"))
            }
            Some(Answer::Nobody) => nobody(&call),
            None => match left_without {
                Unanswered::Nobody => nobody(&call),
                Unanswered::Cancelled => {
                    ToolError::new(ErrorKind::Cancelled, format!("the call of `{tool}` was given up"))
                }
                Unanswered::Fault => {
                    let message = format!("asking about `{tool}` failed; this is a fault in the approver");
                    ToolError::new(ErrorKind::Internal, message)
                }
                Unanswered::Late(patience) => denied(format!(
                    "nobody answered within {} s whether `{tool}` may run",
                    patience.as_secs()
                )),
            },
        };
        call.judged.state = State::Failed(error);
        None
    }

    /// Takes a yes. Arguments that the person wrote are validated as they stand, without repairs, and judged again.
    fn approved<'a>(&self, call: Waiting<'a>, approval: &Approval) -> Option<Waiting<'a>> {
        let Waiting { judged, mut pending, .. } = call;
        if let Some(edited) = approval.edited() {
            if let Some(problem) = problem_of(judged, edited) {
                return Some(Waiting { judged, pending, problem: Some(problem) });
            }
            pending = match self.policy.reconsider(pending, edited.clone()) {
                Ok(pending) => pending,
                Err(decision) => {
                    judged.state = State::Failed(explain::denied(&decision));
                    return None;
                }
            };
        }
        judged.state = match pending.approve(approval, self.approvals) {
            Ok(authorized) => State::Ready(authorized),
            Err(pending) => State::Failed(denied(format!(
                "the approval was for another call than this one of `{}`",
                pending.call().tool.name.shown()
            ))),
        };
        None
    }
}

impl Waiting<'_> {
    fn tool(&self) -> String {
        self.pending.call().tool.name.shown()
    }

    fn asked(&self, context: &CallContext) -> Asked {
        let mut question = self.pending.question();
        question.detached = context.detached;
        question.problem.clone_from(&self.problem);
        Asked::new(question)
    }
}

/// Why a question has no answer.
enum Unanswered {
    Nobody,
    Cancelled,
    Fault,
    Late(Duration),
}

/// Why the schema does not take what the person wrote.
fn problem_of(judged: &Judged, edited: &JsonObject) -> Option<String> {
    let entry = judged.entry.as_ref()?;
    entry.schema.validate(&Value::Object(edited.clone())).err().map(|violations| violations.to_string())
}

fn denied(message: String) -> ToolError {
    ToolError::new(ErrorKind::ApprovalDenied, message)
        .with_hint("do not repeat the call, nor do the same by another tool; go on without it, or ask the user what to do")
}

fn nobody(call: &Waiting<'_>) -> ToolError {
    let rule = &call.pending.decision().rule;
    let message = format!("`{}` needs approval ({rule}), and there is nobody to ask", call.tool());
    let hint =
        "tell the user that the call needs an approval and that nobody can be asked here; do not repeat it";
    ToolError::new(ErrorKind::ApprovalRequired, message).with_hint(hint)
}
