//! The link by which the user of a call logs in at the server of a source.

use toolcrib_model::{UserAnswer, UserQuestion};
use toolcrib_port::CallContext;

/// Shows the user of a call a link to log in by, as a page to open where the client can open pages. Returns false if the
/// user declines, or there is no user to ask.
pub async fn ask_to_log_in(context: &CallContext, namespace: &str, user: &str, link: &str) -> bool {
    let Some(approver) = &context.approver else { return false };
    let text = format!(
        "Log in to `{namespace}` as `{user}`, to go on with the call: open this page in your browser\n{link}"
    );
    let mut question = UserQuestion::new(context.session.clone(), text);
    question.link = Some(link.to_owned());
    question.agent.clone_from(&context.agent);
    matches!(approver.ask_user(&question, context).await, UserAnswer::Approved { .. })
}
