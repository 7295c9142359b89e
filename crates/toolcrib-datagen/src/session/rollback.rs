//! The restoration of the state of a session.

use super::error::SessionError;
use super::state::SessionState;
use super::store::SessionStates;

/// Restores the state of a session when it is dropped, unless the session has ended.
pub(super) struct Rollback<'a> {
    states: &'a SessionStates,
    session: &'a str,
    id: u64,
    state: Option<SessionState>,
}

impl<'a> Rollback<'a> {
    /// Copies the current state.
    pub(super) fn new(states: &'a SessionStates, session: &'a str, id: u64) -> Result<Self, SessionError> {
        let state = Some(states.state(session)?);
        Ok(Self { states, session, id, state })
    }
}

impl Drop for Rollback<'_> {
    fn drop(&mut self) {
        if let Some(state) = self.state.take() {
            self.states.restore(self.session, self.id, state);
        }
    }
}
