//! The identity of callers.

use std::sync::Arc;

/// The identity of a caller, as rules and approvals see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Principal<'a> {
    /// The session that the call belongs to.
    pub session: &'a str,
    /// The agent that makes the call; `None` for a person or a client of the server.
    pub agent: Option<&'a str>,
    /// The agents on whose behalf the agent works, the outermost first: the agent that started it, and its own starters. The
    /// rights of the agent never exceed those of any of them.
    pub on_behalf_of: &'a [Arc<str>],
}

impl<'a> Principal<'a> {
    /// Creates the identity of a caller in this session that is not an agent.
    pub fn new(session: &'a str) -> Self {
        Self { session, agent: None, on_behalf_of: &[] }
    }

    /// Names the agent.
    pub fn with_agent(mut self, agent: &'a str) -> Self {
        self.agent = Some(agent);
        self
    }

    /// Names the agents on whose behalf it works, the outermost first.
    pub fn on_behalf_of(mut self, agents: &'a [Arc<str>]) -> Self {
        self.on_behalf_of = agents;
        self
    }

    /// Returns the same for each of those on whose behalf it works, as if they called themselves.
    pub(crate) fn superiors(self) -> impl Iterator<Item = Self> {
        self.on_behalf_of.iter().map(move |agent| Self::new(self.session).with_agent(agent))
    }
}

impl<'a> From<&'a str> for Principal<'a> {
    fn from(session: &'a str) -> Self {
        Self::new(session)
    }
}
