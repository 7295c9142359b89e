//! The states of all sessions, shared by the session engine and the simulated tools.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use toolcrib_model::JsonObject;

use super::error::SessionError;
use super::state::{CompletedCall, MAX_HISTORY_CALLS, RememberedCall, SessionState, check_values};

/// The most sessions at a time.
pub const MAX_SESSIONS: usize = 10_000;

/// The states of sessions. Clones share them.
///
/// A session is active from its setup to its teardown. Simulated tools also remember the calls of sessions without a
/// setup, such as those of an agent, until the session ends.
#[derive(Clone, Default)]
pub struct SessionStates {
    sessions: Arc<Mutex<Sessions>>,
}

#[derive(Default)]
struct Sessions {
    /// The number of sessions so far, which distinguishes a session from an earlier one of its name.
    started: u64,
    by_name: HashMap<Arc<str>, Session>,
}

struct Session {
    id: u64,
    is_active: bool,
    cancel: CancellationToken,
    /// Held while calls of the session engine run, so that they run in order.
    turn: Arc<tokio::sync::Mutex<()>>,
    /// Held while a stateful tool runs, so that no change of the state is lost.
    changes: Arc<tokio::sync::Mutex<()>>,
    state: SessionState,
}

/// The turn of one caller of a session.
pub(super) struct Turn {
    pub(super) id: u64,
    pub(super) lock: Arc<tokio::sync::Mutex<()>>,
}

/// The session of a call as a simulated tool sees it.
#[derive(Clone, Debug, Default)]
pub(crate) struct SessionView {
    /// The number of the session, which distinguishes it from a later one of its name.
    pub(crate) id: u64,
    /// The values of the state.
    pub(crate) values: JsonObject,
    /// The latest calls of the tool, oldest first.
    pub(crate) earlier: Vec<Arc<RememberedCall>>,
    /// The number of simulated calls before this one.
    pub(crate) position: u64,
}

impl Sessions {
    fn insert(
        &mut self,
        session: &str,
        is_active: bool,
        cancel: CancellationToken,
        state: SessionState,
    ) -> Result<&mut Session, SessionError> {
        if self.by_name.len() >= MAX_SESSIONS && !self.by_name.contains_key(session) {
            return Err(SessionError::TooManySessions { limit: MAX_SESSIONS });
        }
        self.started += 1;
        let id = self.started;
        let (turn, changes) = (Arc::default(), Arc::default());
        let entry = Session { id, is_active, cancel, turn, changes, state };
        Ok(self.by_name.entry(session.into()).insert_entry(entry).into_mut())
    }

    fn active(&mut self, session: &str) -> Result<&mut Session, SessionError> {
        let active = self.by_name.get_mut(session).filter(|entry| entry.is_active);
        active.ok_or_else(|| SessionError::NotActive { session: session.into() })
    }

    /// Returns the active session of this number.
    fn same(&mut self, session: &str, id: u64) -> Result<&mut Session, SessionError> {
        let not_active = || SessionError::NotActive { session: session.into() };
        self.active(session)?;
        self.by_name.get_mut(session).filter(|entry| entry.id == id).ok_or_else(not_active)
    }

    /// Returns a session, which a call starts that is its first.
    fn implied(&mut self, session: &str) -> Result<&mut Session, SessionError> {
        if !self.by_name.contains_key(session) {
            return self.insert(session, false, CancellationToken::new(), SessionState::default());
        }
        let not_active = || SessionError::NotActive { session: session.into() };
        self.by_name.get_mut(session).ok_or_else(not_active)
    }
}

impl SessionStates {
    /// Starts a session.
    pub(super) fn activate(
        &self,
        session: &str,
        state: SessionState,
        parent: &CancellationToken,
    ) -> Result<(), SessionError> {
        state.check(session)?;
        let mut sessions = self.sessions.lock();
        if sessions.by_name.get(session).is_some_and(|entry| entry.is_active) {
            return Err(SessionError::AlreadyActive { session: session.into() });
        }
        sessions.insert(session, true, parent.child_token(), state).map(|_| ())
    }

    /// Ends a session, and cancels its calls.
    pub(super) fn deactivate(&self, session: &str) -> Result<(), SessionError> {
        let mut sessions = self.sessions.lock();
        sessions.active(session)?.cancel.cancel();
        sessions.by_name.remove(session);
        Ok(())
    }

    /// Returns the lock by which the calls of a session take turns.
    pub(super) fn turn(&self, session: &str) -> Result<Turn, SessionError> {
        let mut sessions = self.sessions.lock();
        let entry = sessions.active(session)?;
        Ok(Turn { id: entry.id, lock: Arc::clone(&entry.turn) })
    }

    /// Checks that the history has room for calls. Returns the cancellation of the session.
    pub(super) fn reserve(
        &self,
        session: &str,
        id: u64,
        calls: usize,
    ) -> Result<CancellationToken, SessionError> {
        let mut sessions = self.sessions.lock();
        let entry = sessions.same(session, id)?;
        if entry.state.history.len().saturating_add(calls) > MAX_HISTORY_CALLS {
            return Err(SessionError::HistoryFull { session: session.into(), limit: MAX_HISTORY_CALLS });
        }
        Ok(entry.cancel.clone())
    }

    /// Adds a call to the history.
    pub(super) fn record(&self, session: &str, id: u64, call: CompletedCall) -> Result<(), SessionError> {
        self.sessions.lock().same(session, id)?.state.history.push(call);
        Ok(())
    }

    /// Returns a copy of the state.
    pub(super) fn state(&self, session: &str) -> Result<SessionState, SessionError> {
        Ok(self.sessions.lock().active(session)?.state.clone())
    }

    /// Replaces the state, unless the session has ended.
    pub(super) fn restore(&self, session: &str, id: u64, state: SessionState) {
        if let Ok(entry) = self.sessions.lock().same(session, id) {
            entry.state = state;
        }
    }

    /// Returns the lock that stateful tools of a session hold while they run.
    pub(crate) fn changes(&self, session: &str) -> Result<Arc<tokio::sync::Mutex<()>>, SessionError> {
        Ok(Arc::clone(&self.sessions.lock().implied(session)?.changes))
    }

    /// Counts a call of a simulated tool, and returns what the tool sees of the session: the values, and the latest calls
    /// that `is_example` accepts, at most `most`.
    pub(crate) fn enter(
        &self,
        session: &str,
        most: usize,
        is_example: impl Fn(&RememberedCall) -> bool,
    ) -> Result<SessionView, SessionError> {
        let mut sessions = self.sessions.lock();
        let entry = sessions.implied(session)?;
        let (id, state) = (entry.id, &mut entry.state);
        let position = state.simulated_calls;
        state.simulated_calls += 1;
        let latest = state.remembered.iter().rev().filter(|call| is_example(call)).take(most);
        let mut earlier: Vec<_> = latest.cloned().collect();
        earlier.reverse();
        Ok(SessionView { id, values: state.values.clone(), earlier, position })
    }

    /// Records the reply of a simulated tool, and replaces the values if it changed them. Does nothing if the session has
    /// ended.
    ///
    /// # Errors
    ///
    /// Returns an error if the values are too large. Nothing changes then.
    pub(crate) fn leave(
        &self,
        (session, id): (&str, u64),
        call: RememberedCall,
        values: Option<JsonObject>,
    ) -> Result<(), SessionError> {
        if let Some(values) = &values {
            check_values(values, session)?;
        }
        let mut sessions = self.sessions.lock();
        if let Some(entry) = sessions.by_name.get_mut(session).filter(|entry| entry.id == id) {
            entry.state.remember(call);
            if let Some(values) = values {
                entry.state.values = values;
            }
        }
        Ok(())
    }

    /// Forgets a session that was not set up.
    pub(crate) fn forget(&self, session: &str) {
        let mut sessions = self.sessions.lock();
        if sessions.by_name.get(session).is_some_and(|entry| !entry.is_active) {
            sessions.by_name.remove(session);
        }
    }
}

impl fmt::Debug for SessionStates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The states are left out, since they hold values.
        f.debug_struct("SessionStates").field("sessions", &self.sessions.lock().by_name.len()).finish()
    }
}
