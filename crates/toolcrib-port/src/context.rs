//! What the runtime knows of a call and its arguments cannot say.

use std::any::Any;
use std::sync::Arc;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use toolcrib_policy::Principal;

use crate::{CallScope, PhaseTracker, ProgressListener, ToolCaller};

/// What the runtime knows of a call: who makes it, where, and how long it may take. Arguments with the same names
/// never reach it.
#[derive(Clone)]
#[non_exhaustive]
pub struct CallContext {
    /// The session that the call belongs to; approvals and handles are bound to it.
    pub session: Arc<str>,
    /// The conversation within the session, where there is one.
    pub conversation: Option<Arc<str>>,
    /// The user on whose behalf it is made, where that is known.
    pub user: Option<Arc<str>>,
    /// The message of the conversation that the call answers: the number of the turn, or the id of a client's request.
    pub message: Option<Arc<str>>,
    /// The thread within the conversation, where an embedder has such.
    pub thread: Option<Arc<str>>,
    /// What else an embedder says of the caller.
    pub scope: CallScope,
    /// The agent that makes the call; `None` for a person at the command line.
    pub agent: Option<Arc<str>>,
    /// The agents on whose behalf that agent works, the outermost first. A call may do no more than each of them.
    pub on_behalf_of: Arc<[Arc<str>]>,
    /// The trace that it belongs to, as a W3C `traceparent`, for engines that pass it on.
    pub trace: Option<Arc<str>>,
    /// What the run of a task is known by, the same when it is made again after a crash, for engines that pass it on: by it a
    /// peer tells a second attempt from a second call.
    pub run_key: Option<Arc<str>>,
    /// When the call has to be over. The executor sets it; a nested call cannot extend it.
    pub deadline: Option<Instant>,
    /// Set when the caller gives up.
    pub cancel: CancellationToken,
    /// What is left to the run that made it, as the agent loop knows it. Whatever makes calls of its own for that passes it on.
    pub budget: Option<Arc<dyn Any + Send + Sync>>,
    /// How many calls stand above this one.
    pub depth: u8,
    /// Whether it is one of several that run at once; those may not start several in turn.
    pub parallel: bool,
    /// How many results share the room of one answer; one by default.
    pub sharing: usize,
    /// Whether a program reads the result, which takes in more than a model.
    pub full_results: bool,
    /// True for a call that nobody waits for: one in the background, of a schedule, or of an agent that was started.
    pub detached: bool,
    /// The stage of the call, and the time it has spent waiting for a person.
    pub phase: PhaseTracker,
    /// Who wants to know how far the call is.
    pub progress: Option<Arc<dyn ProgressListener>>,
    /// The entrance, for tools that call tools.
    pub caller: Option<Arc<dyn ToolCaller>>,
}

impl CallContext {
    /// The context of a call that nothing stands above.
    pub fn new(session: impl Into<Arc<str>>) -> Self {
        Self {
            session: session.into(),
            conversation: None,
            user: None,
            message: None,
            thread: None,
            scope: CallScope::default(),
            agent: None,
            on_behalf_of: Arc::default(),
            trace: None,
            run_key: None,
            deadline: None,
            cancel: CancellationToken::new(),
            budget: None,
            depth: 0,
            parallel: false,
            sharing: 1,
            full_results: false,
            detached: false,
            phase: PhaseTracker::new(),
            progress: None,
            caller: None,
        }
    }

    /// Names the agent.
    pub fn with_agent(mut self, agent: impl Into<Arc<str>>) -> Self {
        self.agent = Some(agent.into());
        self
    }

    /// Names the agents on whose behalf the agent works, the outermost first.
    pub fn with_on_behalf_of(mut self, agents: impl Into<Arc<[Arc<str>]>>) -> Self {
        self.on_behalf_of = agents.into();
        self
    }

    /// Names the user.
    pub fn with_user(mut self, user: impl Into<Arc<str>>) -> Self {
        self.user = Some(user.into());
        self
    }

    /// Names the conversation.
    pub fn with_conversation(mut self, conversation: impl Into<Arc<str>>) -> Self {
        self.conversation = Some(conversation.into());
        self
    }

    /// Names the message that the call answers.
    pub fn with_message(mut self, message: impl Into<Arc<str>>) -> Self {
        self.message = Some(message.into());
        self
    }

    /// Names the thread within the conversation.
    pub fn with_thread(mut self, thread: impl Into<Arc<str>>) -> Self {
        self.thread = Some(thread.into());
        self
    }

    /// Sets what else an embedder says of the caller.
    pub fn with_scope(mut self, scope: CallScope) -> Self {
        self.scope = scope;
        self
    }

    /// Takes over from another call on whose behalf and in which conversation it is made: the user, the conversation, the
    /// message, the thread and the scope.
    pub fn with_caller_of(mut self, other: &Self) -> Self {
        self.conversation.clone_from(&other.conversation);
        self.user.clone_from(&other.user);
        self.message.clone_from(&other.message);
        self.thread.clone_from(&other.thread);
        self.scope.clone_from(&other.scope);
        self
    }

    /// Sets the trace, as a W3C `traceparent`.
    pub fn with_trace(mut self, trace: impl Into<Arc<str>>) -> Self {
        self.trace = Some(trace.into());
        self
    }

    /// Sets what the run is known by.
    pub fn with_run_key(mut self, key: impl Into<Arc<str>>) -> Self {
        self.run_key = Some(key.into());
        self
    }

    /// Sets the token by which the caller gives up.
    pub fn with_cancel(mut self, cancel: CancellationToken) -> Self {
        self.cancel = cancel;
        self
    }

    /// Says who wants to know how far the call is.
    pub fn with_progress(mut self, listener: Arc<dyn ProgressListener>) -> Self {
        self.progress = Some(listener);
        self
    }

    /// Says that a program reads the result.
    pub fn with_full_results(mut self) -> Self {
        self.full_results = true;
        self
    }

    /// Returns the deadline, moved by the time that the call has spent waiting for a person.
    pub fn extended_deadline(&self) -> Option<Instant> {
        self.deadline.map(|deadline| deadline + self.phase.waited())
    }

    /// Who calls, as the policy sees it.
    pub fn principal(&self) -> Principal<'_> {
        Principal { session: &self.session, agent: self.agent.as_deref(), on_behalf_of: &self.on_behalf_of }
    }
}
