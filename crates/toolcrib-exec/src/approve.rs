//! Asking a person, for a bounded time.

use std::time::Duration;

use async_trait::async_trait;
use toolcrib_model::{ErrorKind, ToolError};
use toolcrib_policy::{Authorized, Call, PendingCall, Question};
use toolcrib_port::{Answer, Approver, CallContext};

/// The approver of a program that nobody sits at.
#[derive(Clone, Copy, Debug, Default)]
pub struct DenyAll;

#[async_trait]
impl Approver for DenyAll {
    async fn ask(&self, _question: &Question) -> Answer {
        Answer::Nobody
    }
}

/// Puts the call to the approver. Only an answer that names this very call lets it through.
pub(crate) async fn ask(
    approver: &dyn Approver,
    pending: PendingCall,
    patience: Duration,
    context: &CallContext,
) -> Result<Authorized<Call>, ToolError> {
    let question = pending.question();
    let tool = &question.tool;
    let denied = |message: String| {
        ToolError::new(ErrorKind::ApprovalDenied, message)
            .with_hint("do not repeat the call; find another way, or ask")
    };
    let answer = tokio::select! {
        () = context.cancel.cancelled() => {
            return Err(ToolError::new(ErrorKind::Cancelled, format!("the call of `{tool}` was given up")));
        }
        answer = tokio::time::timeout(patience, approver.ask(&question)) => answer,
    };
    match answer {
        Ok(Answer::Approved(digest)) => pending
            .approve(digest)
            .map_err(|_| denied(format!("the approval was for another call than this one of `{tool}`"))),
        Ok(Answer::Denied(None)) => Err(denied(format!("the user denied the call of `{tool}`"))),
        Ok(Answer::Denied(Some(said))) => {
            Err(denied(format!("the user denied the call of `{tool}` and said: {said}")))
        }
        Ok(Answer::Nobody) => {
            let message = format!("`{tool}` needs approval ({}), and there is nobody to ask", question.rule);
            let hint = "grant it under `tools.capabilities`, or run where somebody can answer";
            Err(ToolError::new(ErrorKind::ApprovalRequired, message).with_hint(hint))
        }
        Err(_) => {
            Err(denied(format!("nobody answered within {} s whether `{tool}` may run", patience.as_secs())))
        }
    }
}
