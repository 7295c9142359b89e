//! Removal of secrets from conversations.

use toolcrib_results::Redactor;

use crate::conversation::{Conversation, Message};

/// Replaces the known secrets in all messages and arguments of a conversation by the names of their variables. Returns
/// true if there were any.
pub fn remove_secrets(conversation: &mut Conversation, redactor: &Redactor) -> bool {
    let rejected = conversation.rejected.iter_mut().flat_map(|branch| &mut branch.messages);
    let mut has_secrets = false;
    for message in conversation.messages.iter_mut().chain(rejected) {
        let before = message.clone();
        match message {
            Message::System { content } | Message::User { content } => redact(content, redactor),
            Message::Assistant { content, calls } => {
                redact(content, redactor);
                for call in calls {
                    redactor.redact_value(&mut call.arguments);
                }
            }
            Message::Tool { content, .. } => redactor.redact_value(content),
        }
        has_secrets |= *message != before;
    }
    has_secrets
}

fn redact(text: &mut String, redactor: &Redactor) {
    *text = redactor.redact(text).into_owned();
}
