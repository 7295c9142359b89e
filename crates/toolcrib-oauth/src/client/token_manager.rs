//! The state of an authorization, and the operations on it.

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use http::header::{ACCEPT, HeaderMap, HeaderValue, WWW_AUTHENTICATE};
use serde_json::json;
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::time::Instant;
use toolcrib_io::http::Response;
use toolcrib_model::Secret;
use url::Url;

use super::authorization::{RecoveryStep, TriedSteps};
use super::challenge::Challenge;
use super::credentials::StoredCredentials;
use super::dpop::{Credential, Nonce};
use super::flow;
use super::grant;
use super::http_client::{AuthHttpClient, display_url, is_loopback};
use super::metadata::authorization_error;
use super::scopes;
use super::token_request::{TokenError, Tokens};
use super::token_store::CredentialsKey;
use super::{Grant, McpAuth};
use crate::error::Error;

/// The time for which a failed renewal is reported to other calls before the issuer is asked again.
const FAILURE_PAUSE: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(super) struct TokenManager {
    pub(super) namespace: String,
    pub(super) server: Url,
    pub(super) auth: McpAuth,
    pub(super) http_client: AuthHttpClient,
    pub(super) key: CredentialsKey,
    /// Locked while tokens are requested: other requests wait for the result.
    pub(super) state: Arc<Mutex<TokenState>>,
    /// The nonces that the server and the issuer require in proofs.
    pub(super) server_nonce: Nonce,
    pub(super) issuer_nonce: Nonce,
}

#[derive(Debug, Default)]
pub(super) struct TokenState {
    pub(super) record: Option<StoredCredentials>,
    pub(super) is_loaded: bool,
    failure: Option<(Instant, Error)>,
}

/// The result of a renewal.
pub(super) enum Renewal {
    Token(Credential),
    /// There is no refresh token, or it is no longer valid.
    Impossible,
}

impl TokenState {
    pub(super) fn tokens(&self) -> Option<&Tokens> {
        self.record.as_ref()?.tokens.as_ref()
    }

    pub(super) fn credential(&self) -> Option<Credential> {
        self.record.as_ref()?.credential()
    }
}

impl TokenManager {
    /// Refuses to send tokens over an unencrypted connection to another machine.
    pub(super) fn check_secure(&self) -> Result<(), Error> {
        if self.server.scheme() == "https" || is_loopback(&self.server) {
            return Ok(());
        }
        Err(authorization_error(
            &display_url(&self.server),
            "it requires authorization, and tokens are sent only over https",
        ))
    }

    pub(super) fn load(&self) -> Result<Option<StoredCredentials>, Error> {
        let record = self.auth.store.load(&self.key)?;
        let record = record.filter(|record| record.is_for(&self.namespace, &self.server, &self.auth));
        self.register_secrets(record.as_ref());
        Ok(record)
    }

    pub(super) fn store_record(
        &self,
        state: &mut TokenState,
        record: StoredCredentials,
    ) -> Result<(), Error> {
        self.register_secrets(Some(&record));
        state.failure = None;
        let saved = self.auth.store.save(&self.key, &record);
        state.record = Some(record);
        saved
    }

    /// Registers the secrets of the credentials for redaction.
    fn register_secrets(&self, record: Option<&StoredCredentials>) {
        let Some(record) = record else { return };
        let tokens = record.tokens.as_ref();
        let refresh = tokens.and_then(|tokens| tokens.refresh.as_ref());
        let access = tokens.map(|tokens| &tokens.access);
        let secrets = [access, refresh, record.client.secret.as_ref(), record.key.as_ref()];
        secrets.into_iter().flatten().for_each(|secret| self.register_secret(secret));
    }

    /// Registers a secret for redaction.
    pub(super) fn register_secret(&self, secret: &Secret) {
        self.auth.issued.add(secret);
        if let Some(register_secrets) = &self.auth.on_secret {
            register_secrets(secret);
        }
    }

    pub(super) fn needs_login(&self, why: &str) -> Error {
        let command = &self.auth.login_command;
        let login = command.clone().unwrap_or_else(|| format!("toolcrib login {}", self.namespace));
        Error::NeedsLogin { login, why: crate::text::clean(why, scopes::MAX_SCOPE_BYTES) }
    }

    /// Returns the stored token, if it is not the one that was sent.
    pub(super) fn stored_token(
        &self,
        state: &mut TokenState,
        sent: Option<&Credential>,
        attempt: &mut TriedSteps,
    ) -> Result<Option<Credential>, Error> {
        state.record = self.load()?;
        state.is_loaded = true;
        let is_good = state.tokens().is_some_and(|tokens| !tokens.has_ended());
        let token = state.credential().filter(|_| is_good);
        let other = token.filter(|token| Some(token) != sent && attempt.is_first(RecoveryStep::Adopt));
        if other.is_some() {
            attempt.begin(RecoveryStep::Adopt);
        }
        Ok(other)
    }

    /// Requests new tokens.
    pub(super) async fn authorize(
        &self,
        state: &mut TokenState,
        challenge: &Challenge,
        why: &str,
    ) -> Result<Credential, Error> {
        let before = state.record.as_ref();
        let record = match (self.auth.grant, &self.auth.authorize) {
            (Grant::AuthorizationCode, Some(authorize)) => {
                flow::log_in(self, &**authorize, challenge, before).await?
            }
            (Grant::AuthorizationCode, None) => {
                self.note_wanted(state, challenge);
                return Err(self.needs_login(why));
            }
            (_, _) => flow::without_login(self, challenge, before).await?,
        };
        let token = record.credential();
        self.store_record(state, record)?;
        token.ok_or_else(|| self.needs_login(why))
    }

    /// Stores the scopes that the server requires, so that the next login requests them.
    fn note_wanted(&self, state: &mut TokenState, challenge: &Challenge) {
        let Some(record) = &mut state.record else { return };
        let wanted = scopes::union([&record.wanted, &challenge.scopes].map(|list| scopes::list(list)));
        if wanted != record.wanted {
            record.wanted = wanted;
            if let Err(error) = self.auth.store.save(&self.key, record) {
                tracing::debug!(%error, "the scopes that a server wants are not noted");
            }
        }
    }

    pub(super) async fn renew(&self, mut state: OwnedMutexGuard<TokenState>) -> Result<Renewal, Error> {
        if let Some((at, error)) = &state.failure
            && at.elapsed() < FAILURE_PAUSE
        {
            return Err(error.clone());
        }
        let _renewal_lock = self.auth.store.lock_for_renewal(&self.key).await?;
        let before = state.tokens().map(|tokens| tokens.access.clone());
        state.record = self.load()?;
        let Some(record) = state.record.clone() else { return Ok(Renewal::Impossible) };
        let Some(tokens) = &record.tokens else { return Ok(Renewal::Impossible) };
        if Some(&tokens.access) != before.as_ref() && !tokens.should_be_renewed() {
            // Another process has renewed the token.
            return Ok(record.credential().map_or(Renewal::Impossible, Renewal::Token));
        }
        let fields = match (self.auth.grant, &tokens.refresh) {
            (Grant::AuthorizationCode, Some(token)) => Ok(vec![
                ("grant_type", "refresh_token".to_owned()),
                ("refresh_token", token.expose().to_owned()),
            ]),
            (Grant::AuthorizationCode, None) => return Ok(Renewal::Impossible),
            (_, _) => grant::fields(self, &record.resource, &record.issuer, &record.requested).await,
        };
        let renewed = match fields {
            Ok(fields) => flow::renew(self, &record, fields).await,
            Err(refusal) => Err(refusal),
        };
        match renewed {
            Ok(record) => {
                let token = record.credential();
                self.store_record(&mut state, record)?;
                Ok(token.map_or(Renewal::Impossible, Renewal::Token))
            }
            Err(TokenError::Rejected(error)) => {
                tracing::debug!(%error, "a token can no longer be renewed");
                let mut record = record;
                if let Some(tokens) = &mut record.tokens {
                    tokens.refresh = None;
                }
                self.store_record(&mut state, record)?;
                Ok(Renewal::Impossible)
            }
            Err(TokenError::Failed(error)) => {
                state.failure = Some((Instant::now(), error.clone()));
                Err(error)
            }
        }
    }

    /// Returns the server's challenge to a request without a token. A server without a challenge is assumed to need a
    /// login nevertheless: many list their tools for everyone.
    pub(super) async fn fetch_challenge(&self) -> Result<Challenge, Error> {
        let answer = self.probe(HeaderMap::new()).await?;
        let header = answer.headers.get_all(WWW_AUTHENTICATE).iter().find_map(|value| value.to_str().ok());
        let is_asking = answer.status == http::StatusCode::UNAUTHORIZED;
        Ok(header.filter(|_| is_asking).map(Challenge::read).unwrap_or_default())
    }

    /// Fetches the nonce that the server requires in proofs. The client of rmcp does not expose its header, so this
    /// sends a separate request without side effects.
    pub(super) async fn fetch_nonce(&self, credential: &Credential) -> Result<(), Error> {
        let headers = credential.headers(&Method::POST, &self.server, &self.server_nonce)?;
        let answer = self.probe(headers).await?;
        if self.server_nonce.note(&answer.headers) {
            return Ok(());
        }
        Err(authorization_error(
            &display_url(&self.server),
            "it requires its nonce in the proof of a token, and sends none",
        ))
    }

    async fn probe(&self, mut headers: HeaderMap) -> Result<Response, Error> {
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}});
        self.http_client.post(&self.server, "application/json", headers, request.to_string()).await
    }
}
