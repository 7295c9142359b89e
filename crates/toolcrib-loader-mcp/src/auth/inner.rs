//! What an authorization knows and does, under its lock.

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

use super::authorization::{Attempt, Way};
use super::challenge::Challenge;
use super::dpop::{Credential, Nonce};
use super::fetch::{Door, is_loopback, shown};
use super::flow;
use super::grant;
use super::metadata::refused;
use super::record::Record;
use super::scopes;
use super::store::Key;
use super::token::{Refusal, Tokens};
use super::{Grant, McpAuth};
use crate::error::Error;

/// How long a failure to renew a token is told to other calls before the issuer is asked again.
const FAILURE_PAUSE: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) namespace: String,
    pub(super) server: Url,
    pub(super) auth: McpAuth,
    pub(super) door: Door,
    pub(super) key: Key,
    /// Locked while tokens are asked for: whoever needs one meanwhile waits for that.
    pub(super) state: Arc<Mutex<State>>,
    /// What the server and the issuer want in proofs.
    pub(super) server_nonce: Nonce,
    pub(super) issuer_nonce: Nonce,
}

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) record: Option<Record>,
    pub(super) is_loaded: bool,
    failure: Option<(Instant, Error)>,
}

/// What came of renewing a token.
pub(super) enum Renewed {
    Token(Credential),
    /// There is nothing to renew it with, or no longer.
    Impossible,
}

impl State {
    pub(super) fn tokens(&self) -> Option<&Tokens> {
        self.record.as_ref()?.tokens.as_ref()
    }

    pub(super) fn credential(&self) -> Option<Credential> {
        self.record.as_ref()?.credential()
    }
}

impl Inner {
    /// Refuses to send tokens where others can read them on the way.
    pub(super) fn check_safe(&self) -> Result<(), Error> {
        if self.server.scheme() == "https" || is_loopback(&self.server) {
            return Ok(());
        }
        Err(refused(
            &shown(&self.server),
            "it wants authorization, and tokens go over nothing else than https",
        ))
    }

    pub(super) fn load(&self) -> Result<Option<Record>, Error> {
        let record = self.auth.store.load(&self.key)?;
        let record = record.filter(|record| record.is_for(&self.namespace, &self.server, &self.auth));
        self.tell(record.as_ref());
        Ok(record)
    }

    pub(super) fn keep(&self, state: &mut State, record: Record) -> Result<(), Error> {
        self.tell(Some(&record));
        state.failure = None;
        let saved = self.auth.store.save(&self.key, &record);
        state.record = Some(record);
        saved
    }

    /// Tells of the secrets of a record, so that nothing says them.
    fn tell(&self, record: Option<&Record>) {
        let Some(record) = record else { return };
        let tokens = record.tokens.as_ref();
        let refresh = tokens.and_then(|tokens| tokens.refresh.as_ref());
        let access = tokens.map(|tokens| &tokens.access);
        let secrets = [access, refresh, record.client.secret.as_ref(), record.key.as_ref()];
        secrets.into_iter().flatten().for_each(|secret| self.tell_of(secret));
    }

    /// Tells of one secret.
    pub(super) fn tell_of(&self, secret: &Secret) {
        self.auth.issued.add(secret);
        if let Some(tell) = &self.auth.on_secret {
            tell(secret);
        }
    }

    pub(super) fn needs_login(&self, why: &str) -> Error {
        let command = &self.auth.login_command;
        let login = command.clone().unwrap_or_else(|| format!("toolcrib login {}", self.namespace));
        Error::NeedsLogin { login, why: crate::text::clean(why, scopes::MAX_SCOPE_BYTES) }
    }

    /// The token that is there by now, if it is another than the one that was sent.
    pub(super) fn adopted(
        &self,
        state: &mut State,
        sent: Option<&Credential>,
        attempt: &mut Attempt,
    ) -> Result<Option<Credential>, Error> {
        state.record = self.load()?;
        state.is_loaded = true;
        let is_good = state.tokens().is_some_and(|tokens| !tokens.has_ended());
        let token = state.credential().filter(|_| is_good);
        let other = token.filter(|token| Some(token) != sent && attempt.is_first(Way::Adopt));
        if other.is_some() {
            attempt.begin(Way::Adopt);
        }
        Ok(other)
    }

    /// Asks for tokens anew.
    pub(super) async fn authorize(
        &self,
        state: &mut State,
        challenge: &Challenge,
        why: &str,
    ) -> Result<Credential, Error> {
        let before = state.record.as_ref();
        let record = match (self.auth.grant, &self.auth.authorize) {
            (Grant::AuthorizationCode, Some(authorize)) => {
                flow::by_user(self, &**authorize, challenge, before).await?
            }
            (Grant::AuthorizationCode, None) => {
                self.note_wanted(state, challenge);
                return Err(self.needs_login(why));
            }
            (_, _) => flow::without_login(self, challenge, before).await?,
        };
        let token = record.credential();
        self.keep(state, record)?;
        token.ok_or_else(|| self.needs_login(why))
    }

    /// Notes the scopes that the server asks for, so that the next login asks for them.
    fn note_wanted(&self, state: &mut State, challenge: &Challenge) {
        let Some(record) = &mut state.record else { return };
        let wanted = scopes::union([&record.wanted, &challenge.scopes].map(|list| scopes::list(list)));
        if wanted != record.wanted {
            record.wanted = wanted;
            if let Err(error) = self.auth.store.save(&self.key, record) {
                tracing::debug!(%error, "the scopes that a server wants are not noted");
            }
        }
    }

    pub(super) async fn renew(&self, mut state: OwnedMutexGuard<State>) -> Result<Renewed, Error> {
        if let Some((at, error)) = &state.failure
            && at.elapsed() < FAILURE_PAUSE
        {
            return Err(error.clone());
        }
        let _turn = self.auth.store.turn(&self.key).await?;
        let before = state.tokens().map(|tokens| tokens.access.clone());
        state.record = self.load()?;
        let Some(record) = state.record.clone() else { return Ok(Renewed::Impossible) };
        let Some(tokens) = &record.tokens else { return Ok(Renewed::Impossible) };
        if Some(&tokens.access) != before.as_ref() && !tokens.should_be_renewed() {
            // Another process was faster.
            return Ok(record.credential().map_or(Renewed::Impossible, Renewed::Token));
        }
        let fields = match (self.auth.grant, &tokens.refresh) {
            (Grant::AuthorizationCode, Some(token)) => Ok(vec![
                ("grant_type", "refresh_token".to_owned()),
                ("refresh_token", token.expose().to_owned()),
            ]),
            (Grant::AuthorizationCode, None) => return Ok(Renewed::Impossible),
            (_, _) => grant::fields(self, &record.resource, &record.issuer, &record.requested).await,
        };
        let renewed = match fields {
            Ok(fields) => flow::renewed(self, &record, fields).await,
            Err(refusal) => Err(refusal),
        };
        match renewed {
            Ok(record) => {
                let token = record.credential();
                self.keep(&mut state, record)?;
                Ok(token.map_or(Renewed::Impossible, Renewed::Token))
            }
            Err(Refusal::Final(error)) => {
                tracing::debug!(%error, "a token can no longer be renewed");
                let mut record = record;
                if let Some(tokens) = &mut record.tokens {
                    tokens.refresh = None;
                }
                self.keep(&mut state, record)?;
                Ok(Renewed::Impossible)
            }
            Err(Refusal::Failed(error)) => {
                state.failure = Some((Instant::now(), error.clone()));
                Err(error)
            }
        }
    }

    /// What the server asks for when it is sent a request without a token. One that has nothing to ask for is taken to
    /// want a login nevertheless: many list their tools for everybody.
    pub(super) async fn asked(&self) -> Result<Challenge, Error> {
        let answer = self.knock(HeaderMap::new()).await?;
        let header = answer.headers.get_all(WWW_AUTHENTICATE).iter().find_map(|value| value.to_str().ok());
        let is_asking = answer.status == http::StatusCode::UNAUTHORIZED;
        Ok(header.filter(|_| is_asking).map(Challenge::read).unwrap_or_default())
    }

    /// Fetches the nonce that the server wants in proofs. What carries the requests of rmcp does not show the header with
    /// it, so this is one of our own, which changes nothing.
    pub(super) async fn fetch_nonce(&self, credential: &Credential) -> Result<(), Error> {
        let headers = credential.headers(&Method::POST, &self.server, &self.server_nonce)?;
        let answer = self.knock(headers).await?;
        if self.server_nonce.note(&answer.headers) {
            return Ok(());
        }
        Err(refused(&shown(&self.server), "it wants its nonce in the proof of a token, and says none"))
    }

    async fn knock(&self, mut headers: HeaderMap) -> Result<Response, Error> {
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}});
        self.door.post(&self.server, "application/json", headers, request.to_string()).await
    }
}
