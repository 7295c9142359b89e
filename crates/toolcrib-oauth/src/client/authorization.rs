//! The authorization at one server: its tokens, their renewal, and the login.

use std::sync::Arc;

use http::{HeaderMap, Method};
use tokio::sync::OwnedMutexGuard;
use url::Url;

use super::challenge::Challenge;
use super::dpop::{Credential, Nonce};
use super::flow;
use super::http_client::{AuthHttpClient, display_url};
use super::metadata::authorization_error;
use super::scopes;
use super::token_manager::{Renewal, TokenManager, TokenState};
use super::token_store::CredentialsKey;
use super::{Authorize, Grant, McpAuth};
use crate::error::Error;
use crate::{McpSource, McpTransport};

/// The authorization at one server. Clones share it.
#[derive(Clone, Debug)]
pub struct Authorization {
    inner: Arc<TokenManager>,
}

/// The result of a login.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoginSummary {
    /// The issuer of the tokens.
    pub issuer: String,
    /// The resource that they are for.
    pub resource: String,
    /// The granted scopes, if the issuer reports them.
    pub scopes: Vec<String>,
    /// True if the tokens can be renewed without another login.
    pub is_renewed: bool,
}

/// The steps tried so far to authorize one request. Each is tried once.
#[derive(Debug, Default)]
pub(super) struct TriedSteps(Vec<RecoveryStep>);

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

impl TriedSteps {
    /// Returns true if the step was not tried before.
    pub(super) fn is_first(&self, way: RecoveryStep) -> bool {
        !self.0.contains(&way)
    }

    /// Records a step. Returns true if it was not tried before.
    pub(super) fn begin(&mut self, way: RecoveryStep) -> bool {
        let is_first = self.is_first(way);
        self.0.push(way);
        is_first
    }
}

impl Authorization {
    /// Returns the authorization at the server of a source; `None` if it has none.
    pub fn of(source: &McpSource) -> Option<Result<Self, Error>> {
        match &source.transport {
            McpTransport::Http { url, allow_private, auth: Some(auth), .. } => {
                Some(Self::new(&source.namespace, url, *allow_private, (**auth).clone()))
            }
            _ => None,
        }
    }

    fn new(namespace: &str, url: &str, allow_private: bool, auth: McpAuth) -> Result<Self, Error> {
        let parse = |what: &str, text: &str| {
            Url::parse(text)
                .map_err(|error| authorization_error(what, &format!("the URL cannot be read: {error}")))
        };
        let mut server = parse(namespace, url)?;
        server.set_fragment(None);
        let issuer = auth.issuer.as_deref().map(|issuer| parse("auth.issuer", issuer));
        let provider = auth.identity_provider.as_ref();
        let provider = provider.map(|provider| parse("auth.identity_provider.issuer", &provider.issuer));
        let issuers: Vec<_> = issuer.into_iter().chain(provider).collect::<Result<_, _>>()?;
        let http_client = AuthHttpClient::new(&server, allow_private, &issuers, &auth.access)?;
        let key = CredentialsKey::new(namespace, &server);
        let namespace = namespace.to_owned();
        let inner = TokenManager {
            namespace,
            server,
            auth,
            http_client,
            key,
            state: Arc::default(),
            server_nonce: Nonce::default(),
            issuer_nonce: Nonce::default(),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Has a user log in, and stores the tokens.
    pub async fn login(&self, authorize: &dyn Authorize) -> Result<LoginSummary, Error> {
        let inner = &*self.inner;
        if inner.auth.grant != Grant::AuthorizationCode {
            let problem = "no user logs in there, since its `auth.grant` needs no login";
            return Err(authorization_error(&display_url(&inner.server), problem));
        }
        inner.check_secure()?;
        let challenge = inner.fetch_challenge().await?;
        let mut state = self.lock().await;
        state.record = inner.load()?;
        state.is_loaded = true;
        let record = flow::log_in(inner, authorize, &challenge, state.record.as_ref()).await?;
        inner.store_record(&mut state, record.clone())?;
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
        *state = TokenState::default();
        state.is_loaded = true;
        self.inner.auth.store.forget(&self.inner.key)
    }

    /// Returns the redirect port that the operator has set, if any.
    pub fn fixed_redirect_port(&self) -> Option<u16> {
        self.inner.auth.redirect_port
    }

    /// Returns the redirect port of the last login. With the same port, the registered client can be used again.
    pub fn last_redirect_port(&self) -> Option<u16> {
        let record = self.inner.load().ok()??;
        Url::parse(record.client.redirect_uri.as_deref()?).ok()?.port()
    }

    /// Returns the token to send, renewed if it is about to expire, or `None`.
    pub(super) async fn token(&self) -> Result<Option<Credential>, Error> {
        if self.inner.check_secure().is_err() {
            return Ok(None);
        }
        let mut state = self.lock().await;
        if !state.is_loaded {
            state.record = self.inner.load()?;
            state.is_loaded = true;
        }
        let Some((tokens, credential)) = state.tokens().zip(state.credential()) else { return Ok(None) };
        if !tokens.should_be_renewed() {
            return Ok(Some(credential));
        }
        let is_good = !tokens.has_ended();
        match self.renew(state).await {
            Ok(Renewal::Token(token)) => Ok(Some(token)),
            Ok(Renewal::Impossible) | Err(_) if is_good => Ok(Some(credential)),
            Ok(Renewal::Impossible) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns another token, to replace the one that the server rejected.
    pub(super) async fn replacement(
        &self,
        sent: Option<&Credential>,
        challenge: &Challenge,
        attempt: &mut TriedSteps,
    ) -> Result<Credential, Error> {
        let inner = &*self.inner;
        inner.check_secure()?;
        if let Some(sent) = sent.filter(|sent| sent.key.is_some() && challenge.wants_nonce()) {
            // The token is valid, the proof was not.
            if !attempt.begin(RecoveryStep::Nonce) {
                return Err(authorization_error(
                    &display_url(&inner.server),
                    "it refuses the nonce that it has just given",
                ));
            }
            inner.fetch_nonce(sent).await?;
            return Ok(sent.clone());
        }
        let mut state = self.lock().await;
        // A user may have logged in by now, or another process may have renewed the token.
        if let Some(token) = inner.stored_token(&mut state, sent, attempt)? {
            return Ok(token);
        }
        if sent.is_some() && attempt.begin(RecoveryStep::Renew) {
            match self.renew(state).await? {
                Renewal::Token(token) => return Ok(token),
                Renewal::Impossible => state = self.lock().await,
            }
        }
        if !attempt.begin(RecoveryStep::Authorize) {
            return Err(authorization_error(
                &display_url(&inner.server),
                "it refuses the token that was just issued for it",
            ));
        }
        let why = if state.record.is_some() { "the login has ended" } else { "no user has logged in" };
        inner.authorize(&mut state, challenge, why).await
    }

    /// Returns a token with more scopes, to replace one with insufficient scopes.
    pub(super) async fn with_more_scopes(
        &self,
        sent: Option<&Credential>,
        challenge: &Challenge,
        attempt: &mut TriedSteps,
    ) -> Result<Credential, Error> {
        let inner = &*self.inner;
        inner.check_secure()?;
        let mut state = self.lock().await;
        if let Some(token) = inner.stored_token(&mut state, sent, attempt)? {
            return Ok(token);
        }
        let why = format!("the server wants more scopes: {}", challenge.scopes.join(" "));
        let requested = state.record.as_ref().map(|record| record.requested.clone()).unwrap_or_default();
        let is_new = !scopes::is_subset(&challenge.scopes, &requested);
        if !is_new || !attempt.begin(RecoveryStep::StepUp) {
            return Err(inner.needs_login("the server does not take the scopes that were granted"));
        }
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

    /// Renews the token, even if its caller is cancelled: issuers accept a refresh token once, so their response must
    /// not get lost.
    async fn renew(&self, state: OwnedMutexGuard<TokenState>) -> Result<Renewal, Error> {
        let inner = Arc::clone(&self.inner);
        let renewing = tokio::spawn(async move { inner.renew(state).await });
        renewing.await.unwrap_or_else(|_| {
            Err(Error::Authorization {
                at: display_url(&self.inner.server),
                problem: "the renewal of its token was cut off".into(),
                is_transient: true,
            })
        })
    }
}
