//! Agents that start others.
//!
//! An [`AgentPool`] offers a coordinator the tools to start the agents that an [`AgentFactory`] makes, to wait for what
//! comes of them, and to end them. A started agent works by itself beside its coordinator, in the same session:
//!
//! - it has a conversation of its own that begins with its task;
//! - it has the limits of its own settings, and of calls, tokens, cost and time no more than the run that started it has left,
//!   to which what it spends is charged, also after that run has answered;
//! - its calls are made on behalf of the coordinator too, so that it may do no more than either;
//! - it ends when the run that started it is cancelled, and when its session or the pool does.

mod arguments;
mod runs;
mod tools;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use toolcrib_port::CallContext;

use crate::{Agent, ChatModel};

pub use runs::{MAX_RUNNING, MAX_RUNS};
pub use tools::{AgentPool, DEFAULT_WAIT, MAX_TASK_CHARS, MAX_WAIT};

/// How many agents may stand above one that is started: a coordinator may start one that starts others, and those start
/// none.
pub const MAX_SPAWN_DEPTH: usize = 2;

/// Makes the agents of a pool.
pub trait AgentFactory: Send + Sync {
    /// The ids of the agents that there are, in a stable order.
    fn ids(&self) -> Vec<String>;

    /// Makes one for the session of a call. The context is the one of its own calls: it names the agent, and those on whose
    /// behalf it works.
    ///
    /// # Errors
    ///
    /// Why it cannot be made, as its coordinator may read it.
    fn make(&self, id: &str, context: &CallContext) -> Result<SpawnedAgent, String>;
}

/// An agent that is about to work.
pub struct SpawnedAgent {
    /// The agent.
    pub agent: Agent,
    /// What it thinks with.
    pub model: Arc<dyn ChatModel>,
}
