//! Requests for approval, with a time limit.

use std::time::Duration;

use tokio::time::Instant;
use toolcrib_model::{ErrorKind, JsonObject, NOT_ENOUGH_APPROVALS_HINT, ToolError};
use toolcrib_policy::{Approval, Approvals, Call, PendingApproval, Policy};
use toolcrib_port::{Answer, ApprovalRequest, Approver, CallContext};

use crate::authorize::{CallState, ResolvedCall};
use crate::call_errors;
use crate::panic_guard::catch_panic;
use crate::views::with_originals;

/// The maximum number of times that an invalid edit is returned to the person before the call is denied.
pub(crate) const MAX_EDITS: usize = 5;

/// The dependencies of requests for approval.
pub(crate) struct ApprovalProcess<'a> {
    pub(crate) approver: &'a dyn Approver,
    pub(crate) approvals: &'a Approvals,
    pub(crate) policy: &'a Policy,
    /// The time limit for all answers together.
    pub(crate) time_limit: Duration,
}

/// A call that waits for approval, and the problem with its last answer.
struct WaitingCall<'a> {
    resolved: &'a mut ResolvedCall,
    pending: PendingApproval,
    problem: Option<String>,
}

impl ApprovalProcess<'_> {
    /// Requests approval of all calls that need it, together, until each may run or has failed. Only an answer that
    /// names a call approves it. Answers within the time limit count.
    pub(crate) async fn ask(&self, calls: impl Iterator<Item = &mut ResolvedCall>, context: &CallContext) {
        let mut waiting: Vec<_> =
            calls.filter_map(|resolved| self.apply_remembered(resolved, context)).collect();
        let end = Instant::now() + self.time_limit;
        for _ in 0..=MAX_EDITS {
            if waiting.is_empty() {
                return;
            }
            let mut batch: Vec<_> = waiting.iter().map(|call| call.request(context)).collect();
            let _person = context.phase.wait_for_person();
            let unanswered = tokio::select! {
                biased;
                () = context.cancel.cancelled() => Unanswered::Cancelled,
                done = tokio::time::timeout_at(end, catch_panic(self.approver.ask(&mut batch, context))) => match done {
                    Ok(Some(())) => Unanswered::NoApprover,
                    Ok(None) => Unanswered::Fault,
                    Err(_) if context.journal.is_some() => Unanswered::Undecided(self.time_limit),
                    Err(_) => Unanswered::Late(self.time_limit),
                },
            };
            let answered = waiting.into_iter().zip(batch);
            waiting = answered
                .filter_map(|(call, request)| self.apply_answer(call, request.answer, &unanswered, context))
                .collect();
        }
        for call in waiting {
            let message = format!("the arguments that the user wrote for `{}` did not fit", call.tool());
            call.resolved.state = CallState::Failed(denied(message));
        }
    }

    /// Authorizes a call that a remembered approval covers; returns it if a person has to be asked.
    fn apply_remembered<'a>(
        &self,
        resolved: &'a mut ResolvedCall,
        context: &CallContext,
    ) -> Option<WaitingCall<'a>> {
        let pending = match std::mem::replace(&mut resolved.state, CallState::Taken) {
            CallState::PendingApproval(pending) => {
                pending.with_script(context.script.clone()).with_user(context.user.clone())
            }
            other => {
                resolved.state = other;
                return None;
            }
        };
        match self.approvals.recall(pending) {
            Ok(authorized) => {
                resolved.state = CallState::Authorized(authorized);
                None
            }
            Err(pending) => Some(WaitingCall { resolved, pending: *pending, problem: None }),
        }
    }

    /// Applies an answer; returns the call if another answer is needed.
    fn apply_answer<'a>(
        &self,
        call: WaitingCall<'a>,
        answer: Option<Answer>,
        unanswered: &Unanswered,
        context: &CallContext,
    ) -> Option<WaitingCall<'a>> {
        let tool = call.tool();
        let error = match answer {
            Some(Answer::Approved(approval)) => return self.apply_approval(call, &approval, context),
            Some(Answer::Denied(None)) => denied(format!("the user denied the call of `{tool}`")),
            Some(Answer::Denied(Some(reason))) => {
                denied(format!("the user denied the call of `{tool}` and said: {reason}"))
            }
            Some(Answer::Nobody) => no_approver(&call),
            Some(Answer::Unavailable(reason)) => {
                let message = format!("the approval of `{tool}` cannot be requested: {reason}");
                ToolError::new(ErrorKind::Unavailable, message)
                    .with_hint("the call did not run; try again later")
            }
            None => match unanswered {
                Unanswered::NoApprover => no_approver(&call),
                Unanswered::Cancelled => {
                    ToolError::new(ErrorKind::Cancelled, format!("the call of `{tool}` was cancelled"))
                }
                Unanswered::Fault => {
                    let message = format!("asking about `{tool}` failed; this is a fault in the approver");
                    ToolError::new(ErrorKind::Internal, message)
                }
                Unanswered::Late(time_limit) => denied(no_answer(&tool, *time_limit)),
                Unanswered::Undecided(time_limit) => {
                    ToolError::new(ErrorKind::ApprovalRequired, no_answer(&tool, *time_limit))
                }
            },
        };
        call.resolved.state = CallState::Failed(error);
        None
    }

    /// Applies an approval. Arguments that the person wrote are validated without repairs, and checked against the
    /// policy.
    fn apply_approval<'a>(
        &self,
        call: WaitingCall<'a>,
        approval: &Approval,
        context: &CallContext,
    ) -> Option<WaitingCall<'a>> {
        let WaitingCall { resolved, mut pending, .. } = call;
        if let Some(edited) = approval.edited() {
            let originals = match resolved.violations(edited) {
                None => originals_of(resolved, &pending, edited, context),
                Some(problem) => Err(problem),
            };
            let originals = match originals {
                Ok(originals) => originals,
                Err(problem) => return Some(WaitingCall { resolved, pending, problem: Some(problem) }),
            };
            pending = match self.policy.reconsider(pending, edited.clone(), originals) {
                Ok(pending) => pending,
                Err(decision) => {
                    resolved.state = CallState::Failed(call_errors::denied(&decision));
                    return None;
                }
            };
        }
        if let Some(shortfall) = pending.requirement().shortfall(approval) {
            let message = format!("`{}` was not approved: {shortfall}", pending.call().tool.name.shown());
            let error = ToolError::new(ErrorKind::ApprovalRequired, message);
            resolved.state = CallState::Failed(error.with_hint(NOT_ENOUGH_APPROVALS_HINT));
            return None;
        }
        resolved.state = match pending.approve(approval, self.approvals) {
            Ok(authorized) => CallState::Authorized(authorized),
            Err(pending) => CallState::Failed(denied(format!(
                "the approval was for another call than this one of `{}`",
                pending.call().tool.name.shown()
            ))),
        };
        None
    }
}

impl WaitingCall<'_> {
    fn tool(&self) -> String {
        self.pending.call().tool.name.shown()
    }

    fn request(&self, context: &CallContext) -> ApprovalRequest {
        let mut question = self.pending.question();
        question.detached = context.detached;
        question.problem.clone_from(&self.problem);
        ApprovalRequest::new(question)
    }
}

/// The reason why a request has no answer.
enum Unanswered {
    NoApprover,
    Cancelled,
    Fault,
    Late(Duration),
    /// The time is over, and the caller makes the call again when someone can answer.
    Undecided(Duration),
}

/// Returns the calls of a view's original tools with the arguments that the person wrote.
fn originals_of(
    resolved: &ResolvedCall,
    pending: &PendingApproval,
    edited: &JsonObject,
    context: &CallContext,
) -> Result<Vec<Call>, String> {
    let Some(entry) = &resolved.entry else { return Ok(Vec::new()) };
    let call = Call { arguments: edited.clone(), ..pending.call().clone() };
    with_originals(call, entry, context).map(|call| call.originals).map_err(|error| error.message)
}

fn no_answer(tool: &str, time_limit: Duration) -> String {
    format!("no answer within {} s to the request for approval of `{tool}`", time_limit.as_secs())
}

fn denied(message: String) -> ToolError {
    ToolError::new(ErrorKind::ApprovalDenied, message)
        .with_hint("do not repeat the call, nor do the same by another tool; continue without it, or ask the user what to do")
}

fn no_approver(call: &WaitingCall<'_>) -> ToolError {
    let rule = &call.pending.decision().rule;
    let message = format!("`{}` needs approval ({rule}), and no one is available to approve it", call.tool());
    let hint = "tell the user to open the console or `toolcrib approve` where the app is served; repeat the call only then";
    ToolError::new(ErrorKind::ApprovalRequired, message).with_hint(hint)
}
