//! The tokens of one server: used, renewed, asked for.

use std::sync::Arc;

use http::{HeaderMap, Method};
use tokio::sync::OwnedMutexGuard;
use url::Url;

use super::challenge::Challenge;
use super::dpop::{Credential, Nonce};
use super::fetch::{Door, shown};
use super::flow;
use super::inner::{Inner, Renewed, State};
use super::metadata::refused;
use super::scopes;
use super::store::Key;
use super::{Authorize, Grant, McpAuth};
use crate::error::Error;
use crate::{McpSource, McpTransport};

/// The authorization at one server. Clones share it.
#[derive(Clone, Debug)]
pub struct Authorization {
    inner: Arc<Inner>,
}

/// What came of a login.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoggedIn {
    /// Who issues the tokens.
    pub issuer: String,
    /// What they are for.
    pub resource: String,
    /// What they allow, as far as the issuer says.
    pub scopes: Vec<String>,
    /// Whether they are renewed without another login.
    pub is_renewed: bool,
}

/// What was tried for one request. Each way is tried once.
#[derive(Debug, Default)]
pub(super) struct Attempt(Vec<Way>);

/// A way to another token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// It is there already.
    Adopt,
    Renew,
    Authorize,
    StepUp,
    /// The same with a nonce of the server.
    Nonce,
}

impl Attempt {
    pub(super) fn is_first(&self, way: Way) -> bool {
        !self.0.contains(&way)
    }

    /// Notes a way. Whether it is tried for the first time.
    pub(super) fn begin(&mut self, way: Way) -> bool {
        let is_first = self.is_first(way);
        self.0.push(way);
        is_first
    }
}

impl Authorization {
    /// The authorization at the server of a source; `None` when it has none.
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
            Url::parse(text).map_err(|error| refused(what, &format!("the URL cannot be read: {error}")))
        };
        let mut server = parse(namespace, url)?;
        server.set_fragment(None);
        let issuer = auth.issuer.as_deref().map(|issuer| parse("auth.issuer", issuer));
        let provider = auth.identity_provider.as_ref();
        let provider = provider.map(|provider| parse("auth.identity_provider.issuer", &provider.issuer));
        let issuers: Vec<_> = issuer.into_iter().chain(provider).collect::<Result<_, _>>()?;
        let door = Door::new(&server, allow_private, &issuers, &auth.access)?;
        let key = Key::new(namespace, &server);
        let namespace = namespace.to_owned();
        let inner = Inner {
            namespace,
            server,
            auth,
            door,
            key,
            state: Arc::default(),
            server_nonce: Nonce::default(),
            issuer_nonce: Nonce::default(),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Has a user log in, and keeps the tokens.
    pub async fn login(&self, authorize: &dyn Authorize) -> Result<LoggedIn, Error> {
        let inner = &*self.inner;
        if inner.auth.grant != Grant::AuthorizationCode {
            let problem = "by its `auth.grant` tokens are asked for without a login, so nobody logs in there";
            return Err(refused(&shown(&inner.server), problem));
        }
        inner.check_safe()?;
        let challenge = inner.asked().await?;
        let mut state = self.lock().await;
        state.record = inner.load()?;
        state.is_loaded = true;
        let record = flow::by_user(inner, authorize, &challenge, state.record.as_ref()).await?;
        inner.keep(&mut state, record.clone())?;
        Ok(LoggedIn {
            issuer: record.issuer,
            resource: record.resource,
            is_renewed: record.tokens.as_ref().is_some_and(|tokens| tokens.refresh.is_some()),
            scopes: record.tokens.map(|tokens| tokens.scopes).unwrap_or_default(),
        })
    }

    /// Forgets the tokens and the client. Whether there were any.
    pub async fn logout(&self) -> Result<bool, Error> {
        let mut state = self.lock().await;
        *state = State::default();
        state.is_loaded = true;
        self.inner.auth.store.forget(&self.inner.key)
    }

    /// The port that users have to be sent back to, if the operator has set one.
    pub fn fixed_redirect_port(&self) -> Option<u16> {
        self.inner.auth.redirect_port
    }

    /// The port that the last login had users sent back to. With the same one no other client has to be registered.
    pub fn last_redirect_port(&self) -> Option<u16> {
        let record = self.inner.load().ok()??;
        Url::parse(record.client.redirect_uri.as_deref()?).ok()?.port()
    }

    /// The token to send, renewed when it is about to end; `None` when there is none.
    pub(super) async fn token(&self) -> Result<Option<Credential>, Error> {
        if self.inner.check_safe().is_err() {
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
            Ok(Renewed::Token(token)) => Ok(Some(token)),
            Ok(Renewed::Impossible) | Err(_) if is_good => Ok(Some(credential)),
            Ok(Renewed::Impossible) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Another token, in place of the one that the server did not take.
    pub(super) async fn another(
        &self,
        sent: Option<&Credential>,
        challenge: &Challenge,
        attempt: &mut Attempt,
    ) -> Result<Credential, Error> {
        let inner = &*self.inner;
        inner.check_safe()?;
        if let Some(sent) = sent.filter(|sent| sent.key.is_some() && challenge.wants_nonce()) {
            // The token is good, the proof was not.
            if !attempt.begin(Way::Nonce) {
                return Err(refused(&shown(&inner.server), "it refuses the nonce that it has just given"));
            }
            inner.fetch_nonce(sent).await?;
            return Ok(sent.clone());
        }
        let mut state = self.lock().await;
        // Somebody may have logged in meanwhile, or another process renewed it.
        if let Some(token) = inner.adopted(&mut state, sent, attempt)? {
            return Ok(token);
        }
        if sent.is_some() && attempt.begin(Way::Renew) {
            match self.renew(state).await? {
                Renewed::Token(token) => return Ok(token),
                Renewed::Impossible => state = self.lock().await,
            }
        }
        if !attempt.begin(Way::Authorize) {
            return Err(refused(&shown(&inner.server), "it refuses the token that was just issued for it"));
        }
        let why = if state.record.is_some() { "the login has ended" } else { "nobody has logged in" };
        inner.authorize(&mut state, challenge, why).await
    }

    /// A token with more scopes, in place of the one that did not have enough.
    pub(super) async fn stepped_up(
        &self,
        sent: Option<&Credential>,
        challenge: &Challenge,
        attempt: &mut Attempt,
    ) -> Result<Credential, Error> {
        let inner = &*self.inner;
        inner.check_safe()?;
        let mut state = self.lock().await;
        if let Some(token) = inner.adopted(&mut state, sent, attempt)? {
            return Ok(token);
        }
        let why = format!("the server wants more scopes: {}", challenge.scopes.join(" "));
        let requested = state.record.as_ref().map(|record| record.requested.clone()).unwrap_or_default();
        let is_new = !scopes::are_among(&challenge.scopes, &requested);
        if !is_new || !attempt.begin(Way::StepUp) {
            return Err(inner.needs_login("the server does not take the scopes that were granted"));
        }
        inner.authorize(&mut state, challenge, &why).await
    }

    /// What a request of this method to this URL is sent with.
    pub(super) fn headers(
        &self,
        credential: &Credential,
        method: &Method,
        url: &Url,
    ) -> Result<HeaderMap, Error> {
        credential.headers(method, url, &self.inner.server_nonce)
    }

    /// Notes what the server wants in the next proof; whether it said so.
    pub(super) fn note_nonce(&self, headers: &HeaderMap) -> bool {
        self.inner.server_nonce.note(headers)
    }

    async fn lock(&self) -> OwnedMutexGuard<State> {
        Arc::clone(&self.inner.state).lock_owned().await
    }

    /// Renews the token, also when nobody waits for it any more: issuers take a refresh token once, and what they answer
    /// must not get lost.
    async fn renew(&self, state: OwnedMutexGuard<State>) -> Result<Renewed, Error> {
        let inner = Arc::clone(&self.inner);
        let renewing = tokio::spawn(async move { inner.renew(state).await });
        renewing.await.unwrap_or_else(|_| {
            Err(Error::Authorization {
                at: shown(&self.inner.server),
                problem: "the renewal of its token was cut off".into(),
                passes: true,
            })
        })
    }
}
