//! The owners of tasks.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use toolcrib_port::{CallContext, CallScope};

/// The caller that created a task. The task runs on behalf of its owner, and only the owner sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Owner {
    pub(crate) session: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    conversation: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    user: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    thread: Option<String>,
    #[serde(default, skip_serializing_if = "CallScope::is_empty")]
    scope: CallScope,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    on_behalf_of: Vec<String>,
}

/// A task with its owner, as operators see it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WithOwner<T> {
    /// The session that it belongs to.
    pub session: String,
    /// The agent that created it; absent if a person did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The status of the task.
    #[serde(flatten)]
    pub task: T,
}

impl Owner {
    /// Adds the owner to the status of a task.
    pub(crate) fn attach_to<T>(&self, task: T) -> WithOwner<T> {
        WithOwner { session: self.session.clone(), agent: self.agent.clone(), task }
    }

    pub(crate) fn of(context: &CallContext) -> Self {
        let text = |text: &Option<Arc<str>>| text.as_deref().map(str::to_owned);
        Self {
            session: context.session.as_ref().to_owned(),
            conversation: text(&context.conversation),
            user: text(&context.user),
            message: text(&context.message),
            thread: text(&context.thread),
            scope: context.scope.clone(),
            agent: text(&context.agent),
            on_behalf_of: context.on_behalf_of.iter().map(|agent| agent.as_ref().to_owned()).collect(),
        }
    }

    /// Returns the context of a detached call on behalf of the owner.
    pub(crate) fn context(&self) -> CallContext {
        let mut context = CallContext::new(self.session.as_str());
        context.detached = true;
        context.conversation = self.conversation.as_deref().map(Arc::from);
        context.user = self.user.as_deref().map(Arc::from);
        context.message = self.message.as_deref().map(Arc::from);
        context.thread = self.thread.as_deref().map(Arc::from);
        context.scope = self.scope.clone();
        context.agent = self.agent.as_deref().map(Arc::from);
        context.on_behalf_of = self.on_behalf_of.iter().map(|agent| Arc::from(agent.as_str())).collect();
        context
    }

    /// Returns the context of an action on behalf of the owner, which is a call or an agent run.
    pub(crate) fn action_context(&self) -> CallContext {
        let mut context = self.context();
        context.depth = 1;
        context
    }

    /// Returns true if both owners belong to the same client of a server, in any of its sessions. The session names of
    /// a client differ after the last slash, as in `serve/ci/2b6f`. People who share a client are distinguished by
    /// user. A session without a slash shares its client with no other session.
    pub(crate) fn shares_client_with(&self, other: &Self) -> bool {
        let client = |owner: &'_ Self| owner.session.rsplit_once('/').map(|(client, _)| client.to_owned());
        let own = client(self);
        own.is_some() && own == client(other) && self.user == other.user
    }

    /// Returns true if a call is made by the same agent in the same session.
    pub(crate) fn matches(&self, context: &CallContext) -> bool {
        *self.session == *context.session && self.agent.as_deref() == context.agent.as_deref()
    }
}
