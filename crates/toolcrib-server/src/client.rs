//! Who calls.

use std::sync::Arc;

use toolcrib_runtime::{LOCAL_CLIENT, sessions_of};

use crate::Error;
use crate::random::{hex, random};

/// A client: whoever has a token, or whoever is on this machine.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Client {
    pub(crate) name: String,
    /// Whose its sessions are, and its share of what comes in: its name, or that of one person among several of a name.
    pub(crate) owner: Arc<str>,
    /// On whose behalf it calls, for tools that ask: its name, or the subject of its token.
    pub(crate) user: Option<Arc<str>>,
    /// The session of its requests that belong to none: those of revision 2026-07-28.
    pub(crate) session: Arc<str>,
}

impl Client {
    pub(crate) fn new(name: impl Into<String>) -> Result<Self, Error> {
        let name = name.into();
        let session = new_session(&name)?;
        let user = Some(name.as_str().into());
        Ok(Self { owner: name.as_str().into(), name, user, session })
    }

    /// Whoever is on this machine, where nobody needs a token.
    pub(crate) fn local(user: Option<&str>) -> Result<Self, Error> {
        Ok(Self { user: user.map(Arc::from), ..Self::new(LOCAL_CLIENT)? })
    }

    /// One person among several who come in under a name, by something that nobody else can tell.
    pub(crate) fn of_person(name: &str, subject: &str, secret: &[u8]) -> Self {
        let session = session_of(name, secret.get(..SESSION_BYTES).unwrap_or(secret));
        Self { name: name.to_owned(), owner: Arc::clone(&session), user: Some(subject.into()), session }
    }
}

/// How many bytes of chance are in the name of a session.
const SESSION_BYTES: usize = 16;

/// The name of a session of this client that nobody can guess.
pub(crate) fn new_session(client: &str) -> Result<Arc<str>, Error> {
    Ok(session_of(client, &random::<SESSION_BYTES>()?))
}

fn session_of(client: &str, bytes: &[u8]) -> Arc<str> {
    (sessions_of(client) + &hex(bytes)).into()
}
