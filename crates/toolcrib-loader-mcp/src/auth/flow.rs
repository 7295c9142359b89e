//! Getting tokens: by a user who logs in, or without.

use toolcrib_model::Secret;
use url::Url;

use super::authorize::{Authorize, Redirect};
use super::challenge::Challenge;
use super::client::{Client, Origin};
use super::discovery::{Binding, Discovered, discover};
use super::fetch::shown;
use super::grant;
use super::inner::Inner;
use super::key::PrivateKey;
use super::metadata::{ServerMetadata, is_same_issuer, refused};
use super::random::{challenge_of, random};
use super::record::Record;
use super::scopes::{self, OFFLINE_ACCESS};
use super::token::{Refusal, TokenRequest};
use crate::error::Error;
use crate::text::clean;

/// How much of what an authorization server says of a failed login is told, in characters.
const MAX_TOLD_CHARS: usize = 200;

/// Has a user log in. `before` is what is known from before.
pub(super) async fn by_user(
    inner: &Inner,
    authorize: &dyn Authorize,
    challenge: &Challenge,
    before: Option<&Record>,
) -> Result<Record, Error> {
    let found = found(inner, challenge, before).await?;
    let server = &found.server;
    let endpoint = server.login_endpoint()?;
    let same = before.filter(|before| before.issuer == server.issuer);
    let redirect_uri = authorize.redirect_uri();
    let known = same.map(|before| &before.client);
    let client = Client::for_login(&inner.auth, &inner.door, server, redirect_uri, known).await?;
    let scopes = wanted(inner, challenge, &found, same);
    let key = binding_key(&found, same)?;

    let (state, verifier) = (random()?, random()?);
    let mut url = endpoint.clone();
    {
        let mut query = url.query_pairs_mut();
        query
            .append_pair("response_type", "code")
            .append_pair("client_id", &client.id)
            .append_pair("redirect_uri", redirect_uri)
            .append_pair("state", &state)
            .append_pair("code_challenge", &challenge_of(&verifier))
            .append_pair("code_challenge_method", "S256")
            .append_pair("resource", &found.resource);
        if !scopes.is_empty() {
            query.append_pair("scope", &scopes.join(" "));
        }
        if let Some(thumbprint) = key.as_ref().and_then(PrivateKey::kept).and_then(|key| key.thumbprint()) {
            // Whoever steals the code cannot use it either.
            query.append_pair("dpop_jkt", &thumbprint);
        }
        if scopes.iter().any(|scope| scope == OFFLINE_ACCESS) {
            // `OpenID` Connect gives no refresh token without it.
            query.append_pair("prompt", "consent");
        }
    }
    let redirect = authorize.authorize(&url).await.map_err(|problem| refused(&shown(endpoint), &problem))?;
    let code = code_of(redirect, &state, server)?;
    let fields = vec![
        ("grant_type", "authorization_code".to_owned()),
        ("code", code.expose().to_owned()),
        ("redirect_uri", redirect_uri.to_owned()),
        ("code_verifier", verifier),
    ];
    issue(inner, &found, client, key, fields, scopes).await.map_err(Refusal::error)
}

/// The key that tokens are to be bound to, if they are to be: the one that there is already, else a new one.
fn binding_key(found: &Discovered, before: Option<&Record>) -> Result<Option<Secret>, Error> {
    let is_used = match (found.binding, found.server.binds_tokens) {
        (Binding::No, _) | (Binding::Wanted, Some(false)) => false,
        (Binding::Required, Some(false)) => {
            let problem =
                "the server takes tokens only that are bound to a key, and it binds none to keys of ES256";
            return Err(refused(&found.server.issuer, problem));
        }
        (Binding::Wanted | Binding::Required, _) => true,
    };
    if !is_used {
        return Ok(None);
    }
    let key = before.and_then(|before| before.key.clone()).or_else(PrivateKey::generate);
    key.map(Some).ok_or_else(|| refused("this machine", "it has no random numbers"))
}

/// Asks for tokens without a login, by the grant that the operator has set.
pub(super) async fn without_login(
    inner: &Inner,
    challenge: &Challenge,
    before: Option<&Record>,
) -> Result<Record, Error> {
    let found = found(inner, challenge, before).await?;
    let client = Client::configured(&inner.auth, &found.server).ok_or_else(|| {
        refused(
            &found.server.issuer,
            "without a login there has to be a client; set `auth.client_id`, and its secret where it has one",
        )
    })?;
    let same = before.filter(|before| before.issuer == found.server.issuer);
    let mut scopes = wanted(inner, challenge, &found, same);
    // There is no user who could be offline.
    scopes.retain(|scope| scope != OFFLINE_ACCESS);
    let key = binding_key(&found, same)?;
    let asked = async {
        let fields = grant::fields(inner, &found.resource, &found.server.issuer, &scopes).await?;
        issue(inner, &found, client, key, fields, scopes.clone()).await
    };
    asked.await.map_err(Refusal::error)
}

/// Looks for the authorization server. A client that the operator has registered stays with the one that it was used
/// at first: it is known to no other, and another one would learn its secret.
async fn found(inner: &Inner, challenge: &Challenge, before: Option<&Record>) -> Result<Discovered, Error> {
    let issuer = inner.auth.issuer.as_deref();
    let found = discover(&inner.door, &inner.server, challenge, issuer).await?;
    if issuer.is_none()
        && let Some(before) = before.filter(|before| before.client.origin == Origin::Configured)
        && !is_same_issuer(&before.issuer, &found.server.issuer)
    {
        let problem = format!(
            "its tokens now come from `{}`, and the client in `auth` belongs to `{}`; if that is meant, set `auth.issuer`",
            clean(&found.server.issuer, MAX_TOLD_CHARS),
            clean(&before.issuer, MAX_TOLD_CHARS),
        );
        return Err(refused(&shown(&inner.server), &problem));
    }
    Ok(found)
}

/// The scopes to ask for: those of the operator, those that the server asks for, and those that there were before. Of a
/// server that asks for none, all that it has, unless the operator has chosen.
fn wanted(inner: &Inner, challenge: &Challenge, found: &Discovered, before: Option<&Record>) -> Vec<String> {
    let chosen = &inner.auth.scopes;
    let asked =
        if challenge.scopes.is_empty() && chosen.is_empty() { &found.scopes } else { &challenge.scopes };
    let (requested, since): (&[String], &[String]) =
        before.map_or((&[], &[]), |before| (&before.requested, &before.wanted));
    let mut scopes = scopes::union([chosen, requested, since, asked].map(scopes::list));
    let is_offered = found.server.scopes.iter().any(|scope| scope == OFFLINE_ACCESS);
    if is_offered && !scopes.is_empty() && !scopes.iter().any(|scope| scope == OFFLINE_ACCESS) {
        scopes.push(OFFLINE_ACCESS.to_owned());
    }
    scopes
}

/// The code of a redirect that answers our request and comes from the server that was asked.
fn code_of(redirect: Redirect, state: &str, server: &ServerMetadata) -> Result<Secret, Error> {
    let wrong = |problem: &str| Err(refused(&server.issuer, problem));
    if redirect.state.as_deref() != Some(state) {
        return wrong("what came back is not the answer to this login (`state` differs); start again");
    }
    match redirect.issuer.as_deref() {
        // Letter by letter (RFC 9207): another spelling may be another server.
        Some(issuer) if issuer != server.issuer => {
            return wrong(
                "the answer to the login comes from another server (`iss` differs); it is not used",
            );
        }
        None if server.names_itself => {
            return wrong(
                "the answer to the login does not say who it is from (`iss` is missing); it is not used",
            );
        }
        _ => {}
    }
    if let Some(error) = redirect.error {
        let told = redirect.error_description.map_or(error.clone(), |words| format!("{error}: {words}"));
        return wrong(&format!("the login failed: {}", clean(&told, MAX_TOLD_CHARS)));
    }
    redirect.code.map_or_else(|| wrong("the answer to the login has no code"), Ok)
}

/// Asks for the tokens and makes a record of them.
async fn issue(
    inner: &Inner,
    found: &Discovered,
    client: Client,
    key: Option<Secret>,
    fields: Vec<(&'static str, String)>,
    requested: Vec<String>,
) -> Result<Record, Refusal> {
    let server = &found.server;
    let request = TokenRequest {
        auth: &inner.auth,
        door: &inner.door,
        endpoint: &server.token_endpoint,
        issuer: &server.issuer,
        resource: &found.resource,
        client: &client,
        key: key.as_ref(),
        nonce: &inner.issuer_nonce,
    };
    let mut tokens = request.send(fields).await?;
    if found.binding == Binding::Required && !tokens.is_bound {
        let problem = "the token that it issues is bound to no key, and the server takes no other";
        return Err(Refusal::Failed(refused(&server.issuer, problem)));
    }
    if tokens.scopes.is_empty() {
        // All that was asked for (RFC 6749, section 5.1).
        tokens.scopes.clone_from(&requested);
    }
    let (resource, issuer) = (found.resource.clone(), server.issuer.clone());
    let mut record = Record::new(&inner.namespace, resource, issuer, &server.token_endpoint, client);
    record.tokens = Some(tokens);
    record.key = key;
    record.requested = requested;
    Ok(record)
}

/// Asks for new tokens in place of those of a record.
pub(super) async fn renewed(
    inner: &Inner,
    record: &Record,
    fields: Vec<(&'static str, String)>,
) -> Result<Record, Refusal> {
    let wrong = || Refusal::Failed(refused(&record.issuer, "its token endpoint is no URL; log in again"));
    let endpoint = Url::parse(&record.token_endpoint).map_err(|_| wrong())?;
    let request = TokenRequest {
        auth: &inner.auth,
        door: &inner.door,
        endpoint: &endpoint,
        issuer: &record.issuer,
        resource: &record.resource,
        client: &record.client,
        key: record.key.as_ref(),
        nonce: &inner.issuer_nonce,
    };
    let mut tokens = request.send(fields).await?;
    let before = record.tokens.as_ref();
    if tokens.refresh.is_none() {
        // It stays good when no other comes (RFC 6749, section 6).
        tokens.refresh = before.and_then(|before| before.refresh.clone());
    }
    if tokens.scopes.is_empty() {
        tokens.scopes = before.map(|before| before.scopes.clone()).unwrap_or_default();
    }
    let mut renewed = record.clone();
    renewed.tokens = Some(tokens);
    Ok(renewed)
}
