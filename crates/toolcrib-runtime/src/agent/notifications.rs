//! Notifications that agents read with their next turn.

use std::sync::Arc;

use async_trait::async_trait;
use toolcrib_agent::notifications::{Note, NotificationQueue};
use toolcrib_port::CallContext;
use toolcrib_tasks::Notifications;

/// The notifications of the session that a run belongs to.
pub(crate) struct SessionNotifications(pub(crate) Arc<Notifications>);

#[async_trait]
impl NotificationQueue for SessionNotifications {
    async fn pending(&self, context: &CallContext, most: usize) -> Vec<Note> {
        // What one agent of a session waits for is told to the one that talks to the user, not to those that it has started.
        if !context.on_behalf_of.is_empty() {
            return Vec::new();
        }
        let waiting = self.0.peek(&context.session, most).await;
        waiting.into_iter().map(|(id, told)| Note { id, text: told.line() }).collect()
    }

    async fn acknowledge(&self, context: &CallContext, notes: Vec<Note>) {
        let ids: Vec<String> = notes.into_iter().map(|note| note.id).collect();
        self.0.read(&context.session, &ids).await;
    }
}
