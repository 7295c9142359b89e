//! Who calls.

/// Who calls, as rules and approvals see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Principal<'a> {
    /// The session that the call belongs to.
    pub session: &'a str,
    /// The agent that makes the call; `None` for a person or a client of the server.
    pub agent: Option<&'a str>,
}

impl<'a> Principal<'a> {
    /// Somebody in this session who is no agent.
    pub fn new(session: &'a str) -> Self {
        Self { session, agent: None }
    }

    /// Names the agent.
    pub fn with_agent(mut self, agent: &'a str) -> Self {
        self.agent = Some(agent);
        self
    }
}

impl<'a> From<&'a str> for Principal<'a> {
    fn from(session: &'a str) -> Self {
        Self::new(session)
    }
}
