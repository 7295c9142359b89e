//! The link by which the user of a call logs in at the server of a source.

use std::sync::OnceLock;

use toolcrib_model::{UserAnswer, UserQuestion};
use toolcrib_port::CallContext;

/// The request to the user of a call to log in by a link.
pub struct LoginPrompt<'a> {
    context: &'a CallContext,
    namespace: &'a str,
    user: &'a str,
    /// The link that was shown.
    link: OnceLock<String>,
}

impl<'a> LoginPrompt<'a> {
    /// Creates a prompt for a login of a user at a source.
    pub fn new(context: &'a CallContext, namespace: &'a str, user: &'a str) -> Self {
        Self { context, namespace, user, link: OnceLock::new() }
    }

    /// Shows a link, as a page to open where the client can open pages. Returns false if the user declines, or there is no
    /// user to ask.
    pub async fn show(&self, link: &str) -> bool {
        let context = self.context;
        let Some(approver) = &context.approver else { return false };
        let text = format!(
            "Log in to `{}` as `{}`, to go on with the call: open this page in your browser\n{link}",
            self.namespace, self.user
        );
        let mut question = UserQuestion::new(context.session.clone(), text);
        question.link = Some(link.to_owned());
        question.agent.clone_from(&context.agent);
        // A login has one link.
        let _ = self.link.set(link.to_owned());
        matches!(approver.ask_user(&question, context).await, UserAnswer::Approved { .. })
    }

    /// Tells the client that the login has ended, if it has shown the link.
    pub async fn ended(&self) {
        if let (Some(link), Some(client)) = (self.link.get(), &self.context.reply_to) {
            client.page_ended(link).await;
        }
    }
}
