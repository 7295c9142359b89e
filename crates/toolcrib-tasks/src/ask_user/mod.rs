//! `ask_user`: an agent asks its user a question and waits for the answer.

mod answer;
mod arguments;

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use toolcrib_model::{ErrorKind, Risk, ToolError};
use toolcrib_port::Approver;
use toolcrib_sdk::{CallContext, FunctionTool};

use arguments::AskUser;

pub use arguments::MAX_TEXT_CHARS;

/// The default time that the user has to answer.
const DEFAULT_TIMEOUT: Duration = Duration::from_mins(5);

/// The shortest time that the user has to answer.
const MIN_TIMEOUT: Duration = Duration::from_secs(10);

/// The longest time that the user has to answer.
const MAX_TIMEOUT: Duration = Duration::from_mins(30);

const DESCRIPTION: &str = "Ask the user and wait for the answer: a confirmation, a text to review and change (`content`), one \
                           of several `choices`, or `fields` of a form. Use it when only the user can decide";

/// Returns the tools that ask the user through an approver.
pub fn tools(approver: Arc<dyn Approver>) -> Vec<FunctionTool> {
    let ask = move |arguments: AskUser, context: CallContext| {
        let approver = Arc::clone(&approver);
        async move { ask(&*approver, arguments, &context).await }
    };
    let tool = FunctionTool::new("ask_user", DESCRIPTION, ask)
        .with_risk(Risk::Low)
        .with_aliases(["question", "ask the user", "demander à l'utilisateur"])
        .with_metadata("operational", true)
        .with_metadata("exposed_when_granted", true)
        .with_metadata("clamps", true)
        // The tool has its own timeout, so the deadline of calls does not apply.
        .with_metadata("awaits_user", true);
    vec![tool]
}

async fn ask(approver: &dyn Approver, arguments: AskUser, context: &CallContext) -> Result<Value, ToolError> {
    let timeout = arguments.timeout();
    let question = arguments.question(context)?;
    let _waiting = context.phase.wait_for_person();
    if let Ok(answer) = tokio::time::timeout(timeout, approver.ask_user(&question, context)).await {
        return answer::result(&question, answer);
    }
    let message = format!("the user has not answered within {} s", timeout.as_secs());
    let hint = "this is not consent; continue without the answer and say what you assumed, or stop here";
    Err(ToolError::new(ErrorKind::ApprovalDenied, message).with_hint(hint))
}
