//! What the runtime knows of a call and its arguments cannot say.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use toolcrib_model::{ToolCall, ToolResult};

/// The one entrance to execution.
#[async_trait]
pub trait ToolCaller: Send + Sync {
    /// Runs a call through the whole gate. There is exactly one result, whatever happens.
    async fn call(&self, call: ToolCall, context: &CallContext) -> ToolResult;
}

/// What the runtime knows of a call: who makes it, where, and how long it may take. Arguments with the same names
/// never reach it.
#[derive(Clone)]
#[non_exhaustive]
pub struct CallContext {
    /// The session that the call belongs to; approvals are bound to it.
    pub session: Arc<str>,
    /// The agent that makes the call; `None` for a person at the command line.
    pub agent: Option<Arc<str>>,
    /// When the call has to be over. The executor sets it; a nested call cannot extend it.
    pub deadline: Option<Instant>,
    /// Set when the caller gives up.
    pub cancel: CancellationToken,
    /// How many calls stand above this one.
    pub depth: u8,
    /// The entrance, for tools that call tools.
    pub caller: Option<Arc<dyn ToolCaller>>,
}

impl CallContext {
    /// The context of a call that nothing stands above.
    pub fn new(session: impl Into<Arc<str>>) -> Self {
        Self {
            session: session.into(),
            agent: None,
            deadline: None,
            cancel: CancellationToken::new(),
            depth: 0,
            caller: None,
        }
    }

    /// Names the agent.
    pub fn with_agent(mut self, agent: impl Into<Arc<str>>) -> Self {
        self.agent = Some(agent.into());
        self
    }

    /// Sets the token by which the caller gives up.
    pub fn with_cancel(mut self, cancel: CancellationToken) -> Self {
        self.cancel = cancel;
        self
    }
}
