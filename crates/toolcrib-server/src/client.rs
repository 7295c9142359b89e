//! Who calls.

use std::fmt::Write as _;
use std::sync::Arc;

use toolcrib_runtime::sessions_of;

use crate::Error;

/// A client: whoever has a token, or whoever is on this machine.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Client {
    pub(crate) name: String,
    /// Whose its sessions are, and its share of what comes in: its name, or that of one person among several of a name.
    pub(crate) owner: Arc<str>,
    /// The session of its requests that belong to none: those of revision 2026-07-28.
    pub(crate) session: Arc<str>,
}

impl Client {
    pub(crate) fn new(name: impl Into<String>) -> Result<Self, Error> {
        let name = name.into();
        let session = new_session(&name).ok_or(Error::NoRandomness)?;
        Ok(Self { owner: name.as_str().into(), name, session })
    }

    /// One person among several who come in under a name, by something that nobody else can tell.
    pub(crate) fn of_person(name: &str, secret: &[u8]) -> Self {
        let session = session_of(name, secret.iter().take(SESSION_BYTES));
        Self { name: name.to_owned(), owner: Arc::clone(&session), session }
    }
}

/// How many bytes of chance are in the name of a session.
const SESSION_BYTES: usize = 16;

/// The name of a session of this client that nobody can guess; `None` where there are no random numbers.
pub(crate) fn new_session(client: &str) -> Option<Arc<str>> {
    let mut bytes = [0_u8; SESSION_BYTES];
    getrandom::fill(&mut bytes).ok()?;
    Some(session_of(client, &bytes))
}

fn session_of<'a>(client: &str, bytes: impl IntoIterator<Item = &'a u8>) -> Arc<str> {
    let mut session = sessions_of(client);
    for byte in bytes {
        let _ = write!(session, "{byte:02x}");
    }
    session.into()
}
