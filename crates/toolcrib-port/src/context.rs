//! The context of a call: everything the runtime knows about it that is not an argument.

use std::sync::Arc;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use toolcrib_model::{CallScope, SubjectToken};
use toolcrib_policy::{Access, Principal};

use crate::{Approver, CallJournal, ClientPrompter, PhaseTracker, ProgressListener, RunBudget, ToolCaller};

/// The context of a call: its caller, its session and its time limits. Arguments with the same names never reach it.
#[derive(Clone)]
#[expect(clippy::struct_excessive_bools, reason = "the flags are independent of each other")]
#[non_exhaustive]
pub struct CallContext {
    /// The session of the call; approvals and handles are bound to it.
    pub session: Arc<str>,
    /// The conversation within the session, if there is one.
    pub conversation: Option<Arc<str>>,
    /// The user on whose behalf the call is made, if known.
    pub user: Option<Arc<str>>,
    /// The token that the user came with, for sources that exchange it.
    pub subject_token: Option<Arc<SubjectToken>>,
    /// The message of the conversation that the call answers: the number of the turn, or the id of a client's request.
    pub message: Option<Arc<str>>,
    /// The thread within the conversation, if the embedder has threads.
    pub thread: Option<Arc<str>>,
    /// Additional attributes of the caller, set by the embedder.
    pub scope: CallScope,
    /// The agent that makes the call; `None` for a person at the command line.
    pub agent: Option<Arc<str>>,
    /// The agents on whose behalf that agent works, the outermost first. A call has at most the permissions of each of
    /// them.
    pub on_behalf_of: Arc<[Arc<str>]>,
    /// The trace of the call as a W3C `traceparent`, for engines that propagate it.
    pub trace: Option<Arc<str>>,
    /// The key of a task's run, which stays the same if the run is repeated after a crash, for engines that propagate
    /// it: with it, a peer distinguishes a second attempt from a second call.
    pub run_key: Option<Arc<str>>,
    /// The deadline of the call. The executor sets it; a nested call cannot extend it.
    pub deadline: Option<Instant>,
    /// The token that the caller cancels to give up.
    pub cancel: CancellationToken,
    /// The remaining budget of the agent run that made the call. Code that makes further calls for it passes it on.
    pub budget: Option<Arc<dyn RunBudget>>,
    /// The number of calls above this one in the call chain.
    pub depth: u8,
    /// The access that the tool of the call declares. The executor sets it, also for a nested call, which its own tool
    /// limits.
    pub access: Access,
    /// The script that makes the call.
    pub script: Option<Arc<str>>,
    /// True for one of several calls that run at once; such a call may not start several in turn.
    pub parallel: bool,
    /// The number of results that share the size limit of one answer; one by default.
    pub sharing: usize,
    /// The expression, `JSONPath` or jq, for the result of the call.
    pub projection: Option<Arc<str>>,
    /// True if a program reads the result, which accepts more than a model.
    pub full_results: bool,
    /// True if a host of user interfaces (MCP Apps) makes the call; it alone may call their tools.
    pub app_host: bool,
    /// True for a call that no caller waits for: a background call, a scheduled call, or a call of a started agent.
    pub detached: bool,
    /// The phase of the call, and the time it has spent waiting for a person.
    pub phase: PhaseTracker,
    /// The listener for the progress of the call.
    pub progress: Option<Arc<dyn ProgressListener>>,
    /// The journal of a caller that can make the call again later. Without an answer in time, such a call still needs
    /// approval, and is not denied.
    pub journal: Option<Arc<dyn CallJournal>>,
    /// The client whose user is asked about the call; `None` if no client waits for the call, or it cannot ask.
    pub reply_to: Option<Arc<dyn ClientPrompter>>,
    /// The approver for questions in the middle of the call.
    pub approver: Option<Arc<dyn Approver>>,
    /// The interface for tools that call tools.
    pub caller: Option<Arc<dyn ToolCaller>>,
}

impl CallContext {
    /// Creates the context of a top-level call.
    pub fn new(session: impl Into<Arc<str>>) -> Self {
        Self {
            session: session.into(),
            conversation: None,
            user: None,
            subject_token: None,
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
            access: Access::unlimited(),
            script: None,
            parallel: false,
            sharing: 1,
            projection: None,
            full_results: false,
            app_host: false,
            detached: false,
            phase: PhaseTracker::new(),
            progress: None,
            journal: None,
            reply_to: None,
            approver: None,
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

    /// Sets additional attributes of the caller.
    pub fn with_scope(mut self, scope: CallScope) -> Self {
        self.scope = scope;
        self
    }

    /// Copies the user with their token, the conversation, the message, the thread and the scope from another call.
    pub fn with_caller_of(mut self, other: &Self) -> Self {
        self.conversation.clone_from(&other.conversation);
        self.user.clone_from(&other.user);
        self.subject_token.clone_from(&other.subject_token);
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

    /// Sets the key of the run.
    pub fn with_run_key(mut self, key: impl Into<Arc<str>>) -> Self {
        self.run_key = Some(key.into());
        self
    }

    /// Sets the token that the caller cancels to give up.
    pub fn with_cancel(mut self, cancel: CancellationToken) -> Self {
        self.cancel = cancel;
        self
    }

    /// Sets the listener for progress.
    pub fn with_progress(mut self, listener: Arc<dyn ProgressListener>) -> Self {
        self.progress = Some(listener);
        self
    }

    /// Sets the client whose user is asked about the call.
    pub fn with_reply_to(mut self, client: Arc<dyn ClientPrompter>) -> Self {
        self.reply_to = Some(client);
        self
    }

    /// Declares that a program reads the result.
    pub fn with_full_results(mut self) -> Self {
        self.full_results = true;
        self
    }

    /// Returns the access of an engine, narrowed to what the tool of the call declares.
    pub fn narrow(&self, access: &Access) -> Access {
        access.clone().and(&self.access)
    }

    /// Returns the deadline, extended by the time that the call has spent waiting for a person.
    pub fn extended_deadline(&self) -> Option<Instant> {
        self.deadline.map(|deadline| deadline + self.phase.waited())
    }

    /// Returns the caller, as the policy sees it.
    pub fn principal(&self) -> Principal<'_> {
        Principal { session: &self.session, agent: self.agent.as_deref(), on_behalf_of: &self.on_behalf_of }
    }
}
