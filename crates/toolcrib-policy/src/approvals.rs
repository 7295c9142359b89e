//! Approvals that outlast one call.

use std::collections::HashMap;

use parking_lot::Mutex;

use crate::digest::Memory;
use crate::{Authorized, Call, PendingApproval};

/// The most sessions whose approvals are remembered. The one that has been quiet for longest is forgotten first, and
/// its calls are asked about again.
pub(crate) const MAX_REMEMBERED_SESSIONS: usize = 1024;

/// The most approvals that are remembered for one session. The oldest is forgotten first.
pub(crate) const MAX_REMEMBERED_APPROVALS: usize = 256;

/// The approvals that hold for a session. They live in memory only, and in no file.
#[derive(Debug, Default)]
pub struct Approvals(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    sessions: HashMap<String, Session>,
    /// Counts uses, to tell which session was used last.
    uses: u64,
}

#[derive(Debug, Default)]
struct Session {
    last_use: u64,
    remembered: Vec<Memory>,
}

impl Approvals {
    /// Creates an empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets a call through when an approval is remembered that covers it; gives it back otherwise. It covers calls of
    /// the same tool (name, schema, source and definition), session and agent that the same rule asks about, and either
    /// all arguments or the same values. A call that needs several people, or another one than its caller, is asked about
    /// each time.
    pub fn recall(&self, pending: PendingApproval) -> Result<Authorized<Call>, Box<PendingApproval>> {
        // Most sessions remember nothing, and digests cost more than the look.
        if !pending.is_plain() || !self.0.lock().sessions.contains_key(pending.session()) {
            return Err(Box::new(pending));
        }
        let wanted = pending.covering();
        let is_remembered = {
            let mut state = self.0.lock();
            let session = state.used(pending.session());
            session.is_some_and(|session| wanted.iter().any(|memory| session.remembered.contains(memory)))
        };
        if is_remembered { Ok(pending.recalled()) } else { Err(Box::new(pending)) }
    }

    /// Forgets what was approved for a session, as when it ends.
    pub fn forget(&self, session: &str) {
        self.0.lock().sessions.remove(session);
    }

    pub(crate) fn insert(&self, session: &str, memory: Memory) {
        let mut state = self.0.lock();
        if !state.sessions.contains_key(session) {
            if state.sessions.len() >= MAX_REMEMBERED_SESSIONS {
                let quietest = state.sessions.iter().min_by_key(|(_, session)| session.last_use);
                if let Some(name) = quietest.map(|(name, _)| name.clone()) {
                    state.sessions.remove(&name);
                }
            }
            state.sessions.insert(session.to_owned(), Session::default());
        }
        let Some(session) = state.used(session) else { return };
        session.remembered.retain(|known| *known != memory);
        if session.remembered.len() >= MAX_REMEMBERED_APPROVALS {
            session.remembered.remove(0);
        }
        session.remembered.push(memory);
    }
}

impl State {
    fn used(&mut self, session: &str) -> Option<&mut Session> {
        self.uses += 1;
        let session = self.sessions.get_mut(session)?;
        session.last_use = self.uses;
        Some(session)
    }
}
