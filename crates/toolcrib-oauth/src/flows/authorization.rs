//! The authorization at one server: its tokens, their renewal, and the login.

mod exchanged;
mod renewal;

use std::sync::Arc;
use std::time::Duration;

use http::header::{ACCEPT, HeaderMap, HeaderValue, WWW_AUTHENTICATE};
use http::{Method, StatusCode};
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::time::Instant;
use toolcrib_io::http::Response;
use toolcrib_model::Secret;
use toolcrib_model::text::clean_text;
use url::Url;

use super::challenge::Challenge;
use super::context::Context;
use super::credentials::StoredCredentials;
use super::credentials_key::CredentialsKey;
use super::dpop::{Credential, Nonce};
use super::flow;
use super::http_client::AuthHttpClient;
use super::scopes;
use super::token_request::Tokens;
use super::token_table;
use crate::Error;
use crate::client::Authorize;
use crate::client::{ClientSettings, Grant};
use crate::client::{LoginSummary, Probe, shell_quoted};
use crate::metadata::is_loopback;

/// The time for which a failed renewal is reported to other calls before the issuer is asked again.
pub(super) const FAILURE_PAUSE: Duration = Duration::from_secs(2);

/// The most characters of the name of a user in an error.
const MAX_USER_CHARS: usize = 200;

/// The authorization at one server. Clones share it.
#[derive(Clone, Debug)]
pub struct Authorization {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    context: Context,
    probe: Option<Probe>,
    key: CredentialsKey,
    /// Locked while tokens are requested: other requests wait for the result.
    state: Arc<Mutex<TokenState>>,
    /// The nonce that the server requires in proofs.
    server_nonce: Nonce,
}

#[derive(Debug, Default)]
struct TokenState {
    record: Option<StoredCredentials>,
    is_loaded: bool,
    /// The time from which credentials in a table are loaded again.
    check_at: Option<Instant>,
    failure: Option<(Instant, Error)>,
}

impl TokenState {
    fn tokens(&self) -> Option<&Tokens> {
        self.record.as_ref()?.tokens.as_ref()
    }

    fn credential(&self) -> Option<Credential> {
        self.record.as_ref()?.credential()
    }
}

/// A step towards another token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecoveryStep {
    /// Use a token that is stored by now.
    Adopt,
    Renew,
    Authorize,
    StepUp,
    /// Repeat the request with a nonce of the server.
    Nonce,
}

/// The steps tried so far to authorize one request. Each is tried once.
#[derive(Debug, Default)]
pub(super) struct TriedSteps(Vec<RecoveryStep>);

impl TriedSteps {
    /// Records a step. Returns true if it was not tried before.
    pub(super) fn begin(&mut self, step: RecoveryStep) -> bool {
        let is_first = !self.0.contains(&step);
        self.0.push(step);
        is_first
    }
}

impl Authorization {
    /// Creates the authorization at the server with this URL. `namespace` identifies it in the store and in errors,
    /// `allow_private` permits a private address. Without a probe, the server is not asked what it requires.
    pub fn new(
        namespace: &str,
        url: &str,
        allow_private: bool,
        settings: ClientSettings,
        probe: Option<Probe>,
    ) -> Result<Self, Error> {
        let parse = |what: &str, text: &str| {
            Url::parse(text).map_err(|error| Error::at(what, format!("the URL cannot be read: {error}")))
        };
        let mut server = parse(namespace, url)?;
        server.set_fragment(None);
        let mut issuers = Vec::new();
        if let Some(issuer) = &settings.issuer {
            issuers.push(parse("issuer", issuer)?);
        }
        if let Grant::EnterpriseManaged(provider, _) = &settings.grant {
            issuers.push(parse("identity_provider.issuer", &provider.issuer)?);
        }
        let http_client = AuthHttpClient::new(&server, allow_private, &issuers, &settings.access)?;
        let key = CredentialsKey::new(namespace, &server, settings.user.as_deref());
        let namespace = namespace.to_owned();
        let issuer_nonce = Nonce::default();
        let context = Context { namespace, server, settings, http_client, issuer_nonce };
        let inner = Inner { context, probe, key, state: Arc::default(), server_nonce: Nonce::default() };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Has a user log in, and stores the tokens.
    pub async fn login(&self, authorize: &dyn Authorize) -> Result<LoginSummary, Error> {
        let inner = &*self.inner;
        if !inner.context.settings.grant.needs_user() {
            let problem = "no user logs in there, since its `grant` needs no login";
            return Err(Error::at_url(&inner.context.server, problem));
        }
        inner.check_secure()?;
        let challenge = inner.fetch_challenge().await?;
        let mut state = self.lock().await;
        inner.reload(&mut state).await?;
        let record = flow::log_in(&inner.context, authorize, &challenge, state.record.as_ref()).await?;
        inner.store_record(&mut state, record.clone()).await?;
        Ok(LoginSummary {
            issuer: record.issuer,
            resource: record.resource,
            is_renewed: record.tokens.as_ref().is_some_and(|tokens| tokens.refresh.is_some()),
            scopes: record.tokens.map(|tokens| tokens.scopes).unwrap_or_default(),
        })
    }

    /// Removes the tokens and the client. Returns true if there were any.
    pub async fn logout(&self) -> Result<bool, Error> {
        let mut state = self.lock().await;
        *state = TokenState { is_loaded: true, ..TokenState::default() };
        self.inner.context.settings.store.forget(&self.inner.key).await
    }

    /// Returns the secrets of the client, and those that the server has issued last.
    pub fn secrets(&self) -> Vec<Secret> {
        self.inner.context.settings.secrets()
    }

    /// Returns the redirect port that the operator has set, if any.
    pub fn fixed_redirect_port(&self) -> Option<u16> {
        self.inner.context.settings.redirect_port
    }

    /// Returns the redirect port of the last login. With the same port, the registered client can be used again.
    pub async fn last_redirect_port(&self) -> Option<u16> {
        let record = self.inner.load().await.ok()??;
        Url::parse(record.client.redirect_uri.as_deref()?).ok()?.port()
    }

    /// Returns the token to send, renewed if it is about to expire, or `None`.
    pub(super) async fn token(&self) -> Result<Option<Credential>, Error> {
        if self.inner.check_secure().is_err() {
            return Ok(None);
        }
        if let Grant::TokenExchange(exchange) = &self.inner.context.settings.grant {
            return self.exchanged(exchange).await;
        }
        let mut state = self.lock().await;
        self.inner.reload_if_changed(&mut state).await?;
        let Some((tokens, credential)) = state.tokens().zip(state.credential()) else { return Ok(None) };
        if !tokens.should_be_renewed() {
            return Ok(Some(credential));
        }
        let is_good = !tokens.has_ended();
        match self.renew(state).await {
            Ok(Some(renewed)) => Ok(Some(renewed)),
            Ok(None) | Err(_) if is_good => Ok(Some(credential)),
            failed => failed,
        }
    }

    /// Refuses a request without a token, if the server takes no such requests.
    pub(super) fn check_needs_token(&self) -> Result<(), Error> {
        if !self.inner.context.settings.needs_token {
            return Ok(());
        }
        self.inner.check_secure()?;
        Err(self.inner.needs_login("no user has logged in"))
    }

    /// Returns another token, to replace the one that the server rejected.
    pub(super) async fn replacement(
        &self,
        sent: Option<&Credential>,
        challenge: &Challenge,
        tried: &mut TriedSteps,
    ) -> Result<Credential, Error> {
        let inner = &*self.inner;
        inner.check_secure()?;
        if let Grant::TokenExchange(exchange) = &inner.context.settings.grant {
            return self.exchanged_again(exchange, sent, tried).await;
        }
        if let Some(sent) = sent.filter(|sent| sent.key.is_some() && challenge.wants_nonce()) {
            // The token is valid, the proof was not.
            if !tried.begin(RecoveryStep::Nonce) {
                let problem = "it refuses the nonce that it has just given";
                return Err(Error::at_url(&inner.context.server, problem));
            }
            inner.fetch_nonce(sent).await?;
            return Ok(sent.clone());
        }
        let mut state = self.lock().await;
        // A user may have logged in by now, or another process may have renewed the token.
        if let Some(token) = inner.stored_token(&mut state, sent, tried).await? {
            return Ok(token);
        }
        if sent.is_some() && tried.begin(RecoveryStep::Renew) {
            if let Some(token) = self.renew(state).await? {
                return Ok(token);
            }
            state = self.lock().await;
        }
        if !tried.begin(RecoveryStep::Authorize) {
            let problem = "it refuses the token that was just issued for it";
            return Err(Error::at_url(&inner.context.server, problem));
        }
        let why = if state.record.is_some() { "the login has ended" } else { "no user has logged in" };
        inner.authorize(&mut state, challenge, why).await
    }

    /// Returns a token with more scopes, to replace one with insufficient scopes.
    pub(super) async fn with_more_scopes(
        &self,
        sent: Option<&Credential>,
        challenge: &Challenge,
        tried: &mut TriedSteps,
    ) -> Result<Credential, Error> {
        let inner = &*self.inner;
        inner.check_secure()?;
        if let Grant::TokenExchange(_) = &inner.context.settings.grant {
            let scopes = challenge.scopes.join(" ");
            let problem = format!("it wants more scopes ({scopes}); the operator adds them to `scopes`");
            return Err(Error::at_url(&inner.context.server, problem));
        }
        let mut state = self.lock().await;
        if let Some(token) = inner.stored_token(&mut state, sent, tried).await? {
            return Ok(token);
        }
        let requested: &[String] = state.record.as_ref().map_or(&[], |record| &record.requested);
        if scopes::is_subset(&challenge.scopes, requested) || !tried.begin(RecoveryStep::StepUp) {
            return Err(inner.needs_login("the server does not take the scopes that were granted"));
        }
        let why = format!("the server wants more scopes: {}", challenge.scopes.join(" "));
        inner.authorize(&mut state, challenge, &why).await
    }

    /// Returns the authorization headers of a request with this method and URL.
    pub(super) fn headers(
        &self,
        credential: &Credential,
        method: &Method,
        url: &Url,
    ) -> Result<HeaderMap, Error> {
        credential.headers(method, url, &self.inner.server_nonce)
    }

    /// Stores the nonce that the server requires in the next proof. Returns true if there is one.
    pub(super) fn note_nonce(&self, headers: &HeaderMap) -> bool {
        self.inner.server_nonce.note(headers)
    }

    async fn lock(&self) -> OwnedMutexGuard<TokenState> {
        Arc::clone(&self.inner.state).lock_owned().await
    }
}

impl Inner {
    /// Refuses to send tokens over an unencrypted connection to another machine.
    fn check_secure(&self) -> Result<(), Error> {
        let server = &self.context.server;
        if server.scheme() == "https" || is_loopback(server) {
            return Ok(());
        }
        Err(Error::at_url(server, "it requires authorization, and tokens are sent only over https"))
    }

    async fn load(&self) -> Result<Option<StoredCredentials>, Error> {
        let Context { namespace, server, settings, .. } = &self.context;
        let record: Option<StoredCredentials> = settings.store.load(&self.key).await?;
        let record = record.filter(|record| record.is_for(namespace, server, settings));
        self.register_secrets(record.as_ref());
        Ok(record)
    }

    /// Loads the credentials, unless they are loaded already. Another process may have logged in or out since.
    async fn reload_if_changed(&self, state: &mut TokenState) -> Result<(), Error> {
        let store = &self.context.settings.store;
        let Some(interval) = store.check_interval() else {
            let is_current = state.is_loaded && state.record.is_some() && store.contains(&self.key);
            return if is_current { Ok(()) } else { self.reload(state).await };
        };
        if state.check_at.is_some_and(|at| Instant::now() < at) {
            return Ok(());
        }
        match self.reload(state).await {
            Ok(()) => {
                state.check_at = Some(Instant::now() + interval);
                Ok(())
            }
            // Requests go on with what was loaded, or without a login as before.
            Err(error) if state.is_loaded => {
                tracing::warn!(%error, "the tokens cannot be read, and stay as they are");
                state.check_at = Some(Instant::now() + token_table::FAILURE_PAUSE);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    async fn reload(&self, state: &mut TokenState) -> Result<(), Error> {
        state.record = self.load().await?;
        state.is_loaded = true;
        Ok(())
    }

    async fn store_record(&self, state: &mut TokenState, record: StoredCredentials) -> Result<(), Error> {
        self.register_secrets(Some(&record));
        state.failure = None;
        let saved = self.context.settings.store.save(&self.key, &record).await;
        state.record = Some(record);
        saved
    }

    /// Registers the secrets of the credentials for redaction.
    fn register_secrets(&self, record: Option<&StoredCredentials>) {
        let secrets = record.into_iter().flat_map(StoredCredentials::secrets);
        secrets.for_each(|secret| self.context.settings.register_secret(secret));
    }

    fn needs_login(&self, why: &str) -> Error {
        let settings = &self.context.settings;
        let command = settings.login_command.clone();
        let mut login = command.unwrap_or_else(|| format!("toolcrib login {}", self.context.namespace));
        if let Some(user) = &settings.user {
            login = format!("{login} --as {}", shell_quoted(&clean_text(user, MAX_USER_CHARS)));
        }
        Error::NeedsLogin { login, why: clean_text(why, scopes::MAX_SCOPE_BYTES) }
    }

    /// Returns the stored token, if it is not the one that was sent.
    async fn stored_token(
        &self,
        state: &mut TokenState,
        sent: Option<&Credential>,
        tried: &mut TriedSteps,
    ) -> Result<Option<Credential>, Error> {
        self.reload(state).await?;
        let is_good = state.tokens().is_some_and(|tokens| !tokens.has_ended());
        let other = state.credential().filter(|token| is_good && Some(token) != sent);
        Ok(other.filter(|_| tried.begin(RecoveryStep::Adopt)))
    }

    /// Requests new tokens.
    async fn authorize(
        &self,
        state: &mut TokenState,
        challenge: &Challenge,
        why: &str,
    ) -> Result<Credential, Error> {
        let (settings, before) = (&self.context.settings, state.record.as_ref());
        let record = match &settings.authorize {
            _ if !settings.grant.needs_user() => {
                flow::without_login(&self.context, challenge, before).await?
            }
            Some(authorize) => flow::log_in(&self.context, &**authorize, challenge, before).await?,
            None => {
                self.note_wanted(state, challenge).await;
                return Err(self.needs_login(why));
            }
        };
        let token = record.credential();
        self.store_record(state, record).await?;
        token.ok_or_else(|| self.needs_login(why))
    }

    /// Stores the scopes that the server requires, so that the next login requests them.
    async fn note_wanted(&self, state: &mut TokenState, challenge: &Challenge) {
        let Some(record) = &mut state.record else { return };
        let wanted = scopes::union([&record.wanted, &challenge.scopes].map(|list| scopes::list(list)));
        if wanted != record.wanted {
            record.wanted = wanted;
            if let Err(error) = self.context.settings.store.save(&self.key, record).await {
                tracing::debug!(%error, "the scopes that a server wants are not noted");
            }
        }
    }

    /// Returns the server's challenge to a request without a token. A server without a challenge is assumed to need a
    /// login nevertheless: many list their tools for everyone.
    async fn fetch_challenge(&self) -> Result<Challenge, Error> {
        let Some(response) = self.send_probe(HeaderMap::new()).await? else {
            return Ok(Challenge::default());
        };
        let header = response.headers.get_all(WWW_AUTHENTICATE).iter().find_map(|value| value.to_str().ok());
        let is_asking = response.status == StatusCode::UNAUTHORIZED;
        Ok(header.filter(|_| is_asking).map(Challenge::read).unwrap_or_default())
    }

    /// Fetches the nonce that the server requires in proofs. Clients of protocols do not expose its header, so this
    /// sends a separate request.
    async fn fetch_nonce(&self, credential: &Credential) -> Result<(), Error> {
        let server = &self.context.server;
        let headers = credential.headers(&Method::POST, server, &self.server_nonce)?;
        let response = self.send_probe(headers).await?;
        if response.is_some_and(|response| self.server_nonce.note(&response.headers)) {
            return Ok(());
        }
        Err(Error::at_url(server, "it requires its nonce in the proof of a token, and sends none"))
    }

    async fn send_probe(&self, mut headers: HeaderMap) -> Result<Option<Response>, Error> {
        let Some(Probe { accept, body }) = &self.probe else { return Ok(None) };
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        let Context { server, http_client, .. } = &self.context;
        http_client.post(server, "application/json", headers, body.clone()).await.map(Some)
    }
}
