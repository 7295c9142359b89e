//! On whose behalf something is done later.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use toolcrib_port::{CallContext, CallScope};

/// Who asked for something that is done later. It is done in their name, and nobody else sees it.
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

/// What an operator is told of a task, whoever made it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Owned<T> {
    /// The session that it belongs to.
    pub session: String,
    /// The agent that made it; absent where a person did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// How it stands.
    #[serde(flatten)]
    pub task: T,
}

impl Owner {
    /// Tells it with whose it is.
    pub(crate) fn owning<T>(&self, task: T) -> Owned<T> {
        Owned { session: self.session.clone(), agent: self.agent.clone(), task }
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

    /// Returns the context of a call in their name that nobody waits for.
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

    /// The context of an action in their name: of a call, or of the run of an agent.
    pub(crate) fn action_context(&self) -> CallContext {
        let mut context = self.context();
        context.depth = 1;
        context
    }

    /// Whether something belongs to the same client of a server, in whichever of its sessions. The sessions of a client have
    /// names that differ after the last slash, as `serve/ci/2b6f`; those of people who share a client are told apart by the
    /// user. A session without a slash is nobody else's.
    pub(crate) fn has_client_of(&self, other: &Self) -> bool {
        let client = |owner: &'_ Self| owner.session.rsplit_once('/').map(|(client, _)| client.to_owned());
        let own = client(self);
        own.is_some() && own == client(other) && self.user == other.user
    }

    /// Whether a call is made by the same agent in the same session.
    pub(crate) fn is(&self, context: &CallContext) -> bool {
        *self.session == *context.session && self.agent.as_deref() == context.agent.as_deref()
    }
}
