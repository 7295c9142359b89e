//! Tokens.

use std::sync::Arc;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use sha2::{Digest as _, Sha256};
use toolcrib_runtime::ServedClient;

use crate::Error;
use crate::client::Client;
use crate::server::Shared;

/// Who comes in with which token.
pub(super) struct Access {
    /// By the digest of the token, so that how long a comparison takes says nothing of it.
    clients: Vec<([u8; 32], Arc<Client>)>,
    /// Whoever comes where no token is wanted.
    local: Arc<Client>,
}

/// Why nobody comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// There is no token.
    Missing,
    /// There is one, and it is none of ours.
    Wrong,
}

impl Access {
    pub(super) fn new(shared: &Shared, clients: &[ServedClient]) -> Result<Self, Error> {
        let clients = clients.iter().map(|client| {
            let digest = Sha256::digest(client.token.expose()).into();
            Ok((digest, Arc::new(Client::new(&client.name)?)))
        });
        Ok(Self { clients: clients.collect::<Result<_, Error>>()?, local: Arc::clone(&shared.local) })
    }

    /// Whether no token is wanted.
    pub(super) fn is_open(&self) -> bool {
        self.clients.is_empty()
    }

    /// Whose request it is.
    pub(super) fn client(&self, headers: &HeaderMap) -> Result<Arc<Client>, Refusal> {
        if self.is_open() {
            return Ok(Arc::clone(&self.local));
        }
        let mut given = headers.get_all(AUTHORIZATION).iter();
        let first = given.next().ok_or(Refusal::Missing)?;
        let text = first.to_str().ok().filter(|_| given.next().is_none()).ok_or(Refusal::Wrong)?;
        let (scheme, token) = text.split_once(' ').ok_or(Refusal::Wrong)?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(Refusal::Missing);
        }
        self.of_token(token.trim()).ok_or(Refusal::Wrong)
    }

    /// Who has this token.
    pub(super) fn of_token(&self, token: &str) -> Option<Arc<Client>> {
        let digest: [u8; 32] = Sha256::digest(token).into();
        let found = self.clients.iter().find(|(known, _)| *known == digest);
        found.map(|(_, client)| Arc::clone(client))
    }

    /// Who has a token under this name.
    pub(super) fn named(&self, name: &str) -> Option<Arc<Client>> {
        let found = self.clients.iter().find(|(_, client)| client.name == name);
        found.map(|(_, client)| Arc::clone(client))
    }
}

impl Refusal {
    /// The challenge that is sent with it.
    pub(super) fn challenge(self) -> &'static str {
        match self {
            Self::Missing => "Bearer realm=\"toolcrib\"",
            Self::Wrong => "Bearer realm=\"toolcrib\", error=\"invalid_token\"",
        }
    }
}
