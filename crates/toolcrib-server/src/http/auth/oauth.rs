//! Clients with tokens of an authorization server.

use std::sync::Arc;

use hmac::{Hmac, Mac as _};
use serde_json::Value;
use sha2::Sha256;
use toolcrib_app::sections::serve::{OAuthClient, ServedOAuth};
use toolcrib_model::random::random_bytes;
use toolcrib_model::{Secret, SubjectToken};
use toolcrib_oauth::server::{Claims, TokenValidator, ValidationError};
use url::Url;

use super::error::AuthError;
use crate::client::Client;
use crate::{Error, Replica};

/// The size of an HMAC-SHA256 key of one block, in bytes.
const SEAL_BYTES: usize = 64;

/// The clients with tokens of one authorization server.
pub(super) struct OAuth {
    validator: TokenValidator,
    clients: Vec<OAuthClient>,
    /// The key from which the sessions of each subject are derived.
    seal: [u8; SEAL_BYTES],
}

impl OAuth {
    /// Creates the clients that an app configures. Keys and session names of the earlier version are kept.
    /// Those of processes that share a store are the same.
    pub(super) fn new(
        served: ServedOAuth,
        earlier: Option<&Self>,
        replica: Option<&Replica>,
    ) -> Result<Self, Error> {
        let validator = TokenValidator::new(served.server, earlier.map(|earlier| &earlier.validator));
        let seal = match (earlier, replica) {
            (Some(earlier), _) => earlier.seal,
            (None, Some(replica)) => {
                let mut seal = [0; SEAL_BYTES];
                for (part, name) in seal.chunks_exact_mut(SEAL_BYTES / 2).zip(["0", "1"]) {
                    part.copy_from_slice(&replica.derive("people", name));
                }
                seal
            }
            (None, None) => random_bytes()?,
        };
        Ok(Self { validator, clients: served.clients, seal })
    }

    /// Returns the client that this token authenticates.
    pub(super) async fn client(&self, token: &str) -> Result<Arc<Client>, AuthError> {
        let claims = self.validator.validate(token).await.map_err(|error| match error {
            ValidationError::Invalid(error) => AuthError::Invalid(error),
            ValidationError::Unavailable(wait) => AuthError::Unavailable(wait),
        })?;
        let mut own = self.clients.iter().filter(|client| is_of(client, &claims)).peekable();
        let wanted = own.peek().map(|wanted| wanted.scopes.join(" "));
        match own.find(|client| client.scopes.iter().all(|scope| claims.scopes.contains(scope))) {
            Some(client) => {
                let subject_token = SubjectToken { token: Secret::new(token), expires_at: claims.expires_at };
                let person = self.person(&client.name, &claims.subject);
                Ok(Arc::new(person.with_subject_token(subject_token)))
            }
            None => Err(AuthError::Insufficient(wanted.unwrap_or_default())),
        }
    }

    /// Returns the client of one subject. Its session is the same each time, and others cannot guess it.
    fn person(&self, name: &str, subject: &str) -> Client {
        let mut mac = Hmac::<Sha256>::new(&self.seal.into());
        // The length prefixes make the encoding of each subject unique.
        for part in [self.validator.issuer(), name, subject] {
            mac.update(&part.len().to_be_bytes());
            mac.update(part.as_bytes());
        }
        Client::of_person(name, subject, &mac.finalize().into_bytes())
    }

    /// Returns the metadata by which clients find the authorization server (RFC 9728, section 2).
    pub(super) fn metadata(&self) -> Value {
        let mut scopes: Vec<String> = Vec::new();
        for scope in self.clients.iter().flat_map(|client| &client.scopes) {
            if !scopes.contains(scope) {
                scopes.push(scope.clone());
            }
        }
        serde_json::json!(self.validator.metadata(scopes, "toolcrib"))
    }

    /// Returns the URL by which clients call this server.
    pub(super) fn resource_url(&self) -> &Url {
        self.validator.resource_url()
    }

    /// Returns the URL of the metadata.
    pub(super) fn metadata_url(&self) -> &Url {
        self.validator.metadata_url()
    }
}

/// Returns true if an entry matches this subject and this client.
fn is_of(client: &OAuthClient, claims: &Claims) -> bool {
    client.subject.as_ref().is_none_or(|subject| *subject == claims.subject)
        && client.client_id.as_ref().is_none_or(|id| Some(id) == claims.client_id.as_ref())
}

#[cfg(test)]
mod tests;
