//! The clients that call this server.

use std::sync::Arc;

use toolcrib_app::sections::serve::{LOCAL_CLIENT, sessions_in_profile, sessions_of};
use toolcrib_model::SubjectToken;
use toolcrib_model::random::{hex, random_bytes};

use crate::{Error, Replica};

/// A client: the holder of a token, or a local process.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Client {
    pub(crate) name: String,
    /// The key that its sessions and its rate limit belong to: its name, or a separate key for each person who shares a
    /// name.
    pub(crate) owner: Arc<str>,
    /// The user on whose behalf it calls, for tools that ask: its name, or the subject of its token.
    pub(crate) user: Option<Arc<str>>,
    /// The token of that user that the request came with, unless it is one of the app.
    pub(crate) subject_token: Option<Arc<SubjectToken>>,
    /// The session of its requests without one: those of revision 2026-07-28.
    pub(crate) session: Arc<str>,
    /// The profile of the endpoint that it uses; `None` at `/mcp`.
    profile: Option<Arc<str>>,
}

impl Client {
    /// Creates a client. Its session is the same in all processes that share a store.
    pub(crate) fn new(name: impl Into<String>, replica: Option<&Replica>) -> Result<Self, Error> {
        let name = name.into();
        let session = match replica {
            Some(replica) => {
                let secret = replica.derive("client", &name);
                session_of(&name, secret.get(..SESSION_BYTES).unwrap_or(&secret))
            }
            None => session_of(&name, &random_bytes::<SESSION_BYTES>()?),
        };
        let user = Some(name.as_str().into());
        Ok(Self { owner: name.as_str().into(), name, user, subject_token: None, session, profile: None })
    }

    /// Creates the client for local processes, which is used if no token is required.
    pub(crate) fn local(user: Option<&str>, replica: Option<&Replica>) -> Result<Self, Error> {
        Ok(Self { user: user.map(Arc::from), ..Self::new(LOCAL_CLIENT, replica)? })
    }

    /// Creates the client for one person among several who share a name. The secret keeps others from guessing the
    /// session.
    pub(crate) fn of_person(name: &str, subject: &str, secret: &[u8]) -> Self {
        let session = session_of(name, secret.get(..SESSION_BYTES).unwrap_or(secret));
        let (name, owner, user) = (name.to_owned(), Arc::clone(&session), Some(subject.into()));
        Self { name, owner, user, subject_token: None, session, profile: None }
    }

    /// Sets the token of the user.
    pub(crate) fn with_subject_token(mut self, token: SubjectToken) -> Self {
        self.subject_token = Some(Arc::new(token));
        self
    }

    /// Returns the client at the endpoint of a profile. It shares no session with the client at other endpoints.
    pub(crate) fn at_profile(&self, profile: &str) -> Self {
        let secret = self.session.rsplit('/').next().unwrap_or_default();
        Self {
            name: self.name.clone(),
            owner: format!("{}/{profile}", self.owner).into(),
            user: self.user.clone(),
            subject_token: self.subject_token.clone(),
            session: format!("{}{secret}", sessions_in_profile(&self.name, profile)).into(),
            profile: Some(profile.into()),
        }
    }

    /// Returns the beginning of the names of its sessions.
    pub(crate) fn sessions(&self) -> String {
        match &self.profile {
            Some(profile) => sessions_in_profile(&self.name, profile),
            None => sessions_of(&self.name),
        }
    }

    /// Returns a session name that rules for the client's sessions apply to, without a session.
    pub(crate) fn any_session(&self) -> String {
        format!("{}-", self.sessions())
    }

    /// Returns an unguessable name for a new session.
    pub(crate) fn new_session(&self) -> Result<Arc<str>, Error> {
        Ok((self.sessions() + &hex(&random_bytes::<SESSION_BYTES>()?)).into())
    }
}

/// The number of random bytes in the name of a session.
const SESSION_BYTES: usize = 16;

fn session_of(client: &str, bytes: &[u8]) -> Arc<str> {
    (sessions_of(client) + &hex(bytes)).into()
}
