//! Agents that start others.
//!
//! An [`AgentPool`] offers a coordinator the tools to start the agents that an [`AgentFactory`] makes, to wait for their
//! reports, and to end them. A started agent works concurrently with its coordinator, in the same session:
//!
//! - It has a separate conversation that begins with its task.
//! - It has the limits of its settings, and at most the calls, tokens, cost and time that are left to the run that started
//!   it. Its costs are charged to that run, also after that run has answered.
//! - Its calls are made on behalf of the coordinator too, so that both must be permitted to make them.
//! - It ends when the run that started it is cancelled, and when its session or the pool ends.

mod arguments;
mod runs;
mod tools;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use toolcrib_port::CallContext;

use crate::{Agent, ChatModel};

pub use tools::AgentPool;

/// The number of agents above one that is started: a coordinator may start an agent that starts others, which may not
/// start any.
const MAX_SPAWN_DEPTH: usize = 2;

/// Makes the agents of a pool.
pub trait AgentFactory: Send + Sync {
    /// Returns the ids of the agents that there are, in a stable order.
    fn ids(&self) -> Vec<String>;

    /// Makes an agent for the session of a call. The context is that of the agent's calls: it names the agent, and
    /// those on whose behalf it works.
    ///
    /// # Errors
    ///
    /// Returns a message for the coordinator if the agent cannot be made.
    fn make(&self, id: &str, context: &CallContext) -> Result<SpawnedAgent, String>;
}

/// An agent that is about to work.
pub struct SpawnedAgent {
    /// The agent.
    pub agent: Agent,
    /// The model of the agent.
    pub model: Arc<dyn ChatModel>,
}
