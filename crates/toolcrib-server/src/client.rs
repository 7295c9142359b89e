//! Who calls.

use std::fmt::Write as _;
use std::sync::Arc;

use toolcrib_runtime::sessions_of;

use crate::Error;

/// A client: whoever has a token, or whoever is on this machine.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Client {
    pub(crate) name: String,
    /// The session of its requests that belong to none: those of revision 2026-07-28.
    pub(crate) session: Arc<str>,
}

impl Client {
    pub(crate) fn new(name: impl Into<String>) -> Result<Self, Error> {
        let name = name.into();
        let session = new_session(&name).ok_or(Error::NoRandomness)?;
        Ok(Self { name, session })
    }
}

/// The name of a session of this client that nobody can guess; `None` where there are no random numbers.
pub(crate) fn new_session(client: &str) -> Option<Arc<str>> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).ok()?;
    let mut session = sessions_of(client);
    for byte in bytes {
        let _ = write!(session, "{byte:02x}");
    }
    Some(session.into())
}
