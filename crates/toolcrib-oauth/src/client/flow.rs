//! The flows that obtain tokens: by a user's login, or without.

use toolcrib_model::Secret;
use url::Url;

use super::challenge::Challenge;
use super::client::{ClientOrigin, OAuthClient};
use super::credentials::StoredCredentials;
use super::discovery::{Discovery, TokenBinding, discover};
use super::grant;
use super::http_client::display_url;
use super::metadata::{ServerMetadata, authorization_error, is_same_issuer};
use super::random::{pkce_challenge, random};
use super::redirect::{Authorize, Redirect};
use super::scopes::{self, OFFLINE_ACCESS};
use super::signing_key::PrivateKey;
use super::token_manager::TokenManager;
use super::token_request::{TokenError, TokenRequest};
use crate::error::Error;
use crate::text::clean;

/// The largest number of characters of an authorization server's error that is reported.
const MAX_REPORTED_CHARS: usize = 200;

/// Obtains tokens by a user's login. `before` are the stored credentials, if any.
pub(super) async fn log_in(
    inner: &TokenManager,
    authorize: &dyn Authorize,
    challenge: &Challenge,
    before: Option<&StoredCredentials>,
) -> Result<StoredCredentials, Error> {
    let discovered = discover_server(inner, challenge, before).await?;
    let server = &discovered.server;
    let endpoint = server.login_endpoint()?;
    let same = before.filter(|before| before.issuer == server.issuer);
    let redirect_uri = authorize.redirect_uri();
    let known = same.map(|before| &before.client);
    let client = OAuthClient::for_login(&inner.auth, &inner.http_client, server, redirect_uri, known).await?;
    let scopes = scopes_to_request(inner, challenge, &discovered, same);
    let key = binding_key(&discovered, same)?;

    let (state, verifier) = (random()?, random()?);
    let mut url = endpoint.clone();
    {
        let mut query = url.query_pairs_mut();
        query
            .append_pair("response_type", "code")
            .append_pair("client_id", &client.id)
            .append_pair("redirect_uri", redirect_uri)
            .append_pair("state", &state)
            .append_pair("code_challenge", &pkce_challenge(&verifier))
            .append_pair("code_challenge_method", "S256")
            .append_pair("resource", &discovered.resource);
        if !scopes.is_empty() {
            query.append_pair("scope", &scopes.join(" "));
        }
        if let Some(thumbprint) =
            key.as_ref().and_then(PrivateKey::from_stored).and_then(|key| key.thumbprint())
        {
            // It makes a stolen code useless as well.
            query.append_pair("dpop_jkt", &thumbprint);
        }
        if scopes.iter().any(|scope| scope == OFFLINE_ACCESS) {
            // `OpenID` Connect issues no refresh token without it.
            query.append_pair("prompt", "consent");
        }
    }
    let redirect = authorize
        .authorize(&url)
        .await
        .map_err(|problem| authorization_error(&display_url(endpoint), &problem))?;
    let code = authorization_code(redirect, &state, server)?;
    let fields = vec![
        ("grant_type", "authorization_code".to_owned()),
        ("code", code.expose().to_owned()),
        ("redirect_uri", redirect_uri.to_owned()),
        ("code_verifier", verifier),
    ];
    request_tokens(inner, &discovered, client, key, fields, scopes).await.map_err(TokenError::error)
}

/// Returns the key to bind tokens to, if they have to be bound: the stored one, else a new one.
fn binding_key(discovered: &Discovery, before: Option<&StoredCredentials>) -> Result<Option<Secret>, Error> {
    let is_used = match (discovered.binding, discovered.server.binds_tokens) {
        (TokenBinding::Unsupported, _) | (TokenBinding::Supported, Some(false)) => false,
        (TokenBinding::Required, Some(false)) => {
            let problem =
                "the server takes tokens only that are bound to a key, and it binds none to keys of ES256";
            return Err(authorization_error(&discovered.server.issuer, problem));
        }
        (TokenBinding::Supported | TokenBinding::Required, _) => true,
    };
    if !is_used {
        return Ok(None);
    }
    let key = before.and_then(|before| before.key.clone()).or_else(PrivateKey::generate);
    key.map(Some).ok_or_else(|| authorization_error("this machine", "it has no random numbers"))
}

/// Obtains tokens without a login, by the grant that the operator has configured.
pub(super) async fn without_login(
    inner: &TokenManager,
    challenge: &Challenge,
    before: Option<&StoredCredentials>,
) -> Result<StoredCredentials, Error> {
    let discovered = discover_server(inner, challenge, before).await?;
    let client = OAuthClient::configured(&inner.auth, &discovered.server).ok_or_else(|| {
        authorization_error(
            &discovered.server.issuer,
            "without a login there has to be a client; set `auth.client_id`, and its secret where it has one",
        )
    })?;
    let same = before.filter(|before| before.issuer == discovered.server.issuer);
    let mut scopes = scopes_to_request(inner, challenge, &discovered, same);
    // Without a user there is no offline access.
    scopes.retain(|scope| scope != OFFLINE_ACCESS);
    let key = binding_key(&discovered, same)?;
    let asked = async {
        let fields = grant::fields(inner, &discovered.resource, &discovered.server.issuer, &scopes).await?;
        request_tokens(inner, &discovered, client, key, fields, scopes.clone()).await
    };
    asked.await.map_err(TokenError::error)
}

/// Discovers the authorization server. A client that the operator has registered may only be used at the authorization
/// server of its first use: no other knows it, and another would learn its secret.
async fn discover_server(
    inner: &TokenManager,
    challenge: &Challenge,
    before: Option<&StoredCredentials>,
) -> Result<Discovery, Error> {
    let issuer = inner.auth.issuer.as_deref();
    let discovered = discover(&inner.http_client, &inner.server, challenge, issuer).await?;
    if issuer.is_none()
        && let Some(before) = before.filter(|before| before.client.origin == ClientOrigin::Configured)
        && !is_same_issuer(&before.issuer, &discovered.server.issuer)
    {
        let problem = format!(
            "its tokens now come from `{}`, and the client in `auth` belongs to `{}`; if that is intended, set `auth.issuer`",
            clean(&discovered.server.issuer, MAX_REPORTED_CHARS),
            clean(&before.issuer, MAX_REPORTED_CHARS),
        );
        return Err(authorization_error(&display_url(&inner.server), &problem));
    }
    Ok(discovered)
}

/// Returns the scopes to request: those of the operator, those of the challenge, and the earlier ones. If neither the
/// operator nor the challenge names any, all scopes that the server declares.
fn scopes_to_request(
    inner: &TokenManager,
    challenge: &Challenge,
    discovered: &Discovery,
    before: Option<&StoredCredentials>,
) -> Vec<String> {
    let chosen = &inner.auth.scopes;
    let asked =
        if challenge.scopes.is_empty() && chosen.is_empty() { &discovered.scopes } else { &challenge.scopes };
    let (requested, since): (&[String], &[String]) =
        before.map_or((&[], &[]), |before| (&before.requested, &before.wanted));
    let mut scopes = scopes::union([chosen, requested, since, asked].map(scopes::list));
    let is_offered = discovered.server.scopes.iter().any(|scope| scope == OFFLINE_ACCESS);
    if is_offered && !scopes.is_empty() && !scopes.iter().any(|scope| scope == OFFLINE_ACCESS) {
        scopes.push(OFFLINE_ACCESS.to_owned());
    }
    scopes
}

/// Returns the code of a redirect, after checking that it answers this login and comes from this server.
fn authorization_code(redirect: Redirect, state: &str, server: &ServerMetadata) -> Result<Secret, Error> {
    let wrong = |problem: &str| Err(authorization_error(&server.issuer, problem));
    if redirect.state.as_deref() != Some(state) {
        return wrong("what came back is not the answer to this login (`state` differs); start again");
    }
    match redirect.issuer.as_deref() {
        // An exact comparison (RFC 9207): another spelling may be another server.
        Some(issuer) if issuer != server.issuer => {
            return wrong(
                "the answer to the login comes from another server (`iss` differs); it is not used",
            );
        }
        None if server.sends_issuer => {
            return wrong(
                "the answer to the login does not say who it is from (`iss` is missing); it is not used",
            );
        }
        _ => {}
    }
    if let Some(error) = redirect.error {
        let told = redirect.error_description.map_or(error.clone(), |words| format!("{error}: {words}"));
        return wrong(&format!("the login failed: {}", clean(&told, MAX_REPORTED_CHARS)));
    }
    redirect.code.map_or_else(|| wrong("the answer to the login has no code"), Ok)
}

/// Requests the tokens, and returns the credentials to store.
async fn request_tokens(
    inner: &TokenManager,
    discovered: &Discovery,
    client: OAuthClient,
    key: Option<Secret>,
    fields: Vec<(&'static str, String)>,
    requested: Vec<String>,
) -> Result<StoredCredentials, TokenError> {
    let server = &discovered.server;
    let request = TokenRequest {
        auth: &inner.auth,
        http_client: &inner.http_client,
        endpoint: &server.token_endpoint,
        issuer: &server.issuer,
        resource: &discovered.resource,
        client: &client,
        key: key.as_ref(),
        nonce: &inner.issuer_nonce,
    };
    let mut tokens = request.send(fields).await?;
    if discovered.binding == TokenBinding::Required && !tokens.is_bound {
        let problem = "the token that it issues is bound to no key, and the server takes no other";
        return Err(TokenError::Failed(authorization_error(&server.issuer, problem)));
    }
    if tokens.scopes.is_empty() {
        // All requested scopes were granted (RFC 6749, section 5.1).
        tokens.scopes.clone_from(&requested);
    }
    let (resource, issuer) = (discovered.resource.clone(), server.issuer.clone());
    let mut record =
        StoredCredentials::new(&inner.namespace, resource, issuer, &server.token_endpoint, client);
    record.tokens = Some(tokens);
    record.key = key;
    record.requested = requested;
    Ok(record)
}

/// Requests new tokens for stored credentials.
pub(super) async fn renew(
    inner: &TokenManager,
    record: &StoredCredentials,
    fields: Vec<(&'static str, String)>,
) -> Result<StoredCredentials, TokenError> {
    let wrong = || {
        TokenError::Failed(authorization_error(
            &record.issuer,
            "its token endpoint is not a URL; log in again",
        ))
    };
    let endpoint = Url::parse(&record.token_endpoint).map_err(|_| wrong())?;
    let request = TokenRequest {
        auth: &inner.auth,
        http_client: &inner.http_client,
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
        // The old refresh token remains valid if there is no new one (RFC 6749, section 6).
        tokens.refresh = before.and_then(|before| before.refresh.clone());
    }
    if tokens.scopes.is_empty() {
        tokens.scopes = before.map(|before| before.scopes.clone()).unwrap_or_default();
    }
    let mut renew = record.clone();
    renew.tokens = Some(tokens);
    Ok(renew)
}
