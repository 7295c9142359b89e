//! Sessions of generated conversations: calls that run in order, their state, and the history of both.

mod error;
mod rollback;
mod state;
mod store;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use toolcrib_model::{ErrorKind, Tool, ToolCall, ToolError, ToolResult};
use toolcrib_port::{CallContext, ToolCaller};

pub use self::error::SessionError;
use self::rollback::Rollback;
pub use self::state::{CompletedCall, RememberedCall, SessionState};
pub use self::store::{MAX_SESSIONS, SessionStates};
#[cfg(test)]
use self::{state::MAX_HISTORY_CALLS, state::MAX_STATE_BYTES};

/// Decides whether the engine of a tool keeps all effects of its calls in the session, so that they can be rolled back.
type ReversibleTools = dyn Fn(&Tool) -> bool + Send + Sync;

/// Ends the work of engines for a session, by its name.
type TeardownListener = dyn Fn(&str) + Send + Sync;

/// Runs the calls of conversations. Each call goes through the [`ToolCaller`], so that the policy decides about it like
/// about any other call, and its errors are results.
///
/// The calls of a session run one after the other, and simulated tools see the earlier ones. Sessions are independent
/// of each other, and may run concurrently.
///
/// ```
/// use std::sync::Arc;
/// use async_trait::async_trait;
/// use serde_json::json;
/// use toolcrib_datagen::session::{SessionEngine, SessionStates};
/// use toolcrib_model::{JsonObject, ToolCall, ToolResult};
/// use toolcrib_port::{CallContext, ToolCaller};
///
/// struct Echo;
///
/// #[async_trait]
/// impl ToolCaller for Echo {
///     async fn call(&self, call: ToolCall, _context: &CallContext) -> ToolResult {
///         ToolResult::ok(call.call_id, call.name, json!(call.arguments))
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), toolcrib_datagen::session::SessionError> {
/// let engine = SessionEngine::new(Arc::new(Echo), SessionStates::default());
/// let session = engine.setup("item-1", JsonObject::new())?;
/// let results = engine.execute(session.name(), vec![ToolCall::new("math::add", JsonObject::new())]).await?;
/// assert_eq!(results[0].result, json!({}));
/// assert_eq!(engine.state(session.name())?.history.len(), 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct SessionEngine {
    caller: Arc<dyn ToolCaller>,
    states: SessionStates,
    template: CallContext,
    reversible: Arc<ReversibleTools>,
    teardown: Option<Arc<TeardownListener>>,
}

impl SessionEngine {
    /// Creates the engine. Simulated tools see the sessions if their engine has the same `states`.
    pub fn new(caller: Arc<dyn ToolCaller>, states: SessionStates) -> Self {
        let template = CallContext::new("");
        Self { caller, states, template, reversible: Arc::new(|_| false), teardown: None }
    }

    /// Sets the context of all calls: the agent, the user, the budget. Each session replaces the session and the
    /// cancellation in it.
    pub fn with_context(mut self, context: CallContext) -> Self {
        self.template = context;
        self
    }

    /// Sets the tools that [`simulate`](Self::simulate) may call although they change something: those whose engine
    /// keeps its state in the session. By default, no tool is one of them.
    pub fn with_reversible_tools(
        mut self,
        is_reversible: impl Fn(&Tool) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.reversible = Arc::new(is_reversible);
        self
    }

    /// Sets what ends the work of other parts for a session, such as [`Executor::end_session`]. It is called once for
    /// each session, also during a panic, so it must not block.
    ///
    /// [`Executor::end_session`]: https://docs.rs/toolcrib-exec
    pub fn with_teardown(mut self, end: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.teardown = Some(Arc::new(end));
        self
    }

    /// Starts a session from a state: the values for stateful tools, or the [`state`](Self::state) of another session.
    /// The session ends when the guard is dropped, also by a panic or a cancellation.
    ///
    /// # Errors
    ///
    /// Returns an error if the session is active, or the state is too large.
    pub fn setup(
        &self,
        session: &str,
        initial: impl Into<SessionState>,
    ) -> Result<SessionGuard, SessionError> {
        self.states.activate(session, initial.into(), &self.template.cancel)?;
        Ok(SessionGuard { engine: self.clone(), session: session.into() })
    }

    /// Runs calls in their order. Returns one result for each; an unknown tool, a denied call and a failure are results.
    ///
    /// # Errors
    ///
    /// Returns an error if the session is not active, ends meanwhile, or has no room for the calls in its history. The
    /// calls that ran until then are in the history.
    pub async fn execute(
        &self,
        session: &str,
        calls: Vec<ToolCall>,
    ) -> Result<Vec<ToolResult>, SessionError> {
        let turn = self.states.turn(session)?;
        let _turn = turn.lock.lock().await;
        self.run(session, turn.id, calls, |_| None).await
    }

    /// Runs calls like [`execute`](Self::execute), and restores the state and the history of the session afterwards,
    /// also if the future is dropped. A call that could not be undone is not made; its result is an error.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`execute`](Self::execute).
    pub async fn simulate(
        &self,
        session: &str,
        calls: Vec<ToolCall>,
    ) -> Result<Vec<ToolResult>, SessionError> {
        let turn = self.states.turn(session)?;
        let _turn = turn.lock.lock().await;
        let _rollback = Rollback::new(&self.states, session, turn.id)?;
        self.run(session, turn.id, calls, |call| self.irreversible(session, call)).await
    }

    /// Returns a copy of the state of a session, which another session may start from.
    ///
    /// # Errors
    ///
    /// Returns an error if the session is not active.
    pub fn state(&self, session: &str) -> Result<SessionState, SessionError> {
        self.states.state(session)
    }

    /// Ends a session: its calls are cancelled, and its state is forgotten. Dropping its guard does the same.
    ///
    /// # Errors
    ///
    /// Returns an error if the session is not active.
    pub fn teardown(&self, session: &str) -> Result<(), SessionError> {
        self.states.deactivate(session)?;
        if let Some(end) = &self.teardown {
            end(session);
        }
        Ok(())
    }

    async fn run(
        &self,
        session: &str,
        id: u64,
        calls: Vec<ToolCall>,
        refuse: impl Fn(&ToolCall) -> Option<ToolError> + Send + Sync,
    ) -> Result<Vec<ToolResult>, SessionError> {
        let cancel = self.states.reserve(session, id, calls.len())?;
        let mut context = self.template.clone().with_cancel(cancel);
        context.session = session.into();
        let mut results = Vec::with_capacity(calls.len());
        for call in calls {
            let result = match refuse(&call) {
                Some(error) => ToolResult::failed(call.call_id.clone(), call.name.clone(), error),
                None => self.caller.call(call.clone(), &context).await,
            };
            self.states.record(session, id, CompletedCall { call, result: result.clone() })?;
            results.push(result);
        }
        Ok(results)
    }

    /// Returns the error of a call whose effects could not be undone.
    fn irreversible(&self, session: &str, call: &ToolCall) -> Option<ToolError> {
        let mut context = self.template.clone();
        context.session = session.into();
        let catalogue = self.caller.catalogue();
        // The call itself reports that its tool is unknown.
        let tools = catalogue.find_tools(&call.name, &context).ok()?;
        if catalogue.only_reads(call, &context) || tools.iter().all(|tool| (self.reversible)(tool)) {
            return None;
        }
        let message =
            format!("`{}` may have effects that cannot be undone, so it is not simulated", call.name);
        Some(ToolError::new(ErrorKind::Denied, message).with_hint("execute the call instead"))
    }
}

impl fmt::Debug for SessionEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionEngine").field("states", &self.states).finish_non_exhaustive()
    }
}

/// Ends a session when it is dropped.
#[derive(Debug)]
#[must_use = "the session ends when this is dropped"]
pub struct SessionGuard {
    engine: SessionEngine,
    session: Arc<str>,
}

impl SessionGuard {
    /// Returns the name of the session.
    pub fn name(&self) -> &str {
        &self.session
    }
}

impl Drop for SessionGuard {
    fn drop(&mut self) {
        // The session may have been ended by its name.
        let _ = self.engine.teardown(&self.session);
    }
}
