//! The answer to a call or a question, and the failure to deliver it.

use toolcrib_server::Error;
use toolcrib_server::operator::{CallDecision, QuestionReply};

use crate::exit::{Exit, Failure};

/// The answer to a call or a question.
pub(super) enum Answer {
    Say(CallDecision),
    Reply(QuestionReply),
}

pub(super) fn failure(error: &Error) -> Failure {
    let exit = match error {
        Error::Operator { .. } => Exit::Unavailable,
        Error::NoOperatorDirectory | Error::NoSockets => Exit::BadInput,
        _ => Exit::Failed,
    };
    Failure::new(exit, error.to_string())
}
