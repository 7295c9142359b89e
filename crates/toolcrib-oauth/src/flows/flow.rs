//! The flows that obtain tokens: by a user's login, or without.

use toolcrib_model::Secret;
use toolcrib_model::text::clean_text;
use url::Url;

use super::challenge::Challenge;
use super::context::Context;
use super::credentials::{StoredCredentials, VERSION};
use super::discovery::{Discovery, TokenBinding, discover};
use super::form::Fields;
use super::grant;
use super::pkce::{digest, random};
use super::registration::{ClientOrigin, OAuthClient};
use super::scopes::{self, OFFLINE_ACCESS};
use super::server_metadata::{S256, ServerMetadata};
use super::signing_key::PrivateKey;
use super::token_request::{TokenRequest, TokenRequestError};
use super::token_response::MAX_REPORTED_CHARS;
use crate::Error;
use crate::client::{Authorize, Redirect};
use crate::metadata::is_same_issuer;

/// Obtains tokens by a user's login. `before` are the stored credentials, if any.
pub(super) async fn log_in(
    context: &Context,
    authorize: &dyn Authorize,
    challenge: &Challenge,
    before: Option<&StoredCredentials>,
) -> Result<StoredCredentials, Error> {
    let discovered = discover_server(context, challenge, before).await?;
    let server = &discovered.server;
    let endpoint = server.login_endpoint()?;
    let same = before.filter(|before| before.issuer == server.issuer);
    let redirect_uri = authorize.redirect_uri();
    let known = same.map(|before| &before.client);
    let (settings, http_client) = (&context.settings, &context.http_client);
    let client = OAuthClient::for_login(settings, http_client, server, redirect_uri, known).await?;
    let scopes = scopes_to_request(context, challenge, &discovered, same);
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
            .append_pair("code_challenge", &digest(&verifier))
            .append_pair("code_challenge_method", S256)
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
    let redirect = authorize.authorize(&url).await.map_err(|problem| Error::at_url(endpoint, problem))?;
    let code = authorization_code(redirect, &state, server)?;
    let fields = vec![
        ("grant_type", "authorization_code".to_owned()),
        ("code", code.expose().to_owned()),
        ("redirect_uri", redirect_uri.to_owned()),
        ("code_verifier", verifier),
    ];
    request_tokens(context, &discovered, client, key, fields, scopes).await.map_err(TokenRequestError::error)
}

/// Returns the key to bind tokens to, if they have to be bound: the stored one, else a new one.
fn binding_key(discovered: &Discovery, before: Option<&StoredCredentials>) -> Result<Option<Secret>, Error> {
    match (discovered.binding, discovered.server.binds_tokens) {
        (TokenBinding::Unsupported, _) | (TokenBinding::Supported, Some(false)) => return Ok(None),
        (TokenBinding::Required, Some(false)) => {
            let problem =
                "the server takes tokens only that are bound to a key, and it binds none to keys of ES256";
            return Err(Error::at(&discovered.server.issuer, problem));
        }
        (TokenBinding::Supported | TokenBinding::Required, _) => {}
    }
    let key = before.and_then(|before| before.key.clone()).or_else(PrivateKey::generate);
    key.map(Some).ok_or_else(|| Error::at("this machine", "it has no random numbers"))
}

/// Obtains tokens without a login, by the grant that the operator has configured.
pub(super) async fn without_login(
    context: &Context,
    challenge: &Challenge,
    before: Option<&StoredCredentials>,
) -> Result<StoredCredentials, Error> {
    let discovered = discover_server(context, challenge, before).await?;
    let client = OAuthClient::configured(&context.settings, &discovered.server).ok_or_else(|| {
        let problem =
            "without a login there has to be a client; set `client_id`, and its secret where it has one";
        Error::at(&discovered.server.issuer, problem)
    })?;
    let same = before.filter(|before| before.issuer == discovered.server.issuer);
    let mut scopes = scopes_to_request(context, challenge, &discovered, same);
    // Without a user there is no offline access.
    scopes.retain(|scope| scope != OFFLINE_ACCESS);
    let key = binding_key(&discovered, same)?;
    let asked = async {
        let fields = grant::fields(context, &discovered.resource, &discovered.server.issuer, &scopes).await?;
        request_tokens(context, &discovered, client, key, fields, scopes.clone()).await
    };
    asked.await.map_err(TokenRequestError::error)
}

/// Discovers the authorization server. A client that the operator has registered may only be used at the authorization
/// server of its first use: no other knows it, and another would learn its secret.
async fn discover_server(
    context: &Context,
    challenge: &Challenge,
    before: Option<&StoredCredentials>,
) -> Result<Discovery, Error> {
    let issuer = context.settings.issuer.as_deref();
    let wanted = (issuer, context.settings.trusts_issuer);
    let discovered = discover(&context.http_client, &context.server, challenge, wanted).await?;
    if issuer.is_none()
        && let Some(before) = before.filter(|before| before.client.origin == ClientOrigin::Configured)
        && !is_same_issuer(&before.issuer, &discovered.server.issuer)
    {
        let problem = format!(
            "its tokens now come from `{}`, and the client belongs to `{}`; if that is intended, set `issuer`",
            clean_text(&discovered.server.issuer, MAX_REPORTED_CHARS),
            clean_text(&before.issuer, MAX_REPORTED_CHARS),
        );
        return Err(Error::at_url(&context.server, problem));
    }
    Ok(discovered)
}

/// Returns the scopes to request: those of the operator, those of the challenge, and the earlier ones. If neither the
/// operator nor the challenge names any, all scopes that the server declares.
fn scopes_to_request(
    context: &Context,
    challenge: &Challenge,
    discovered: &Discovery,
    before: Option<&StoredCredentials>,
) -> Vec<String> {
    let chosen = &context.settings.scopes;
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
    let wrong = |problem: &str| Err(Error::at(&server.issuer, problem));
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
        return wrong(&format!("the login failed: {}", clean_text(&told, MAX_REPORTED_CHARS)));
    }
    redirect.code.map_or_else(|| wrong("the answer to the login has no code"), Ok)
}

/// Requests the tokens, and returns the credentials to store.
async fn request_tokens(
    context: &Context,
    discovered: &Discovery,
    client: OAuthClient,
    key: Option<Secret>,
    fields: Fields,
    requested: Vec<String>,
) -> Result<StoredCredentials, TokenRequestError> {
    let Discovery { server, resource, .. } = discovered;
    let (endpoint, issuer) = (&server.token_endpoint, &*server.issuer);
    let request = TokenRequest { context, endpoint, issuer, resource, client: &client, key: key.as_ref() };
    let mut tokens = request.send(fields).await?;
    if discovered.binding == TokenBinding::Required && !tokens.is_bound {
        let problem = "the token that it issues is bound to no key, and the server takes no other";
        return Err(Error::at(&server.issuer, problem).into());
    }
    if tokens.scopes.is_empty() {
        // All requested scopes were granted (RFC 6749, section 5.1).
        tokens.scopes.clone_from(&requested);
    }
    Ok(StoredCredentials {
        version: VERSION,
        namespace: context.namespace.clone(),
        user: context.settings.user.as_deref().map(str::to_owned),
        resource: resource.clone(),
        issuer: server.issuer.clone(),
        token_endpoint: server.token_endpoint.to_string(),
        client,
        tokens: Some(tokens),
        key,
        requested,
        wanted: Vec::new(),
    })
}

/// Requests new tokens for stored credentials.
pub(super) async fn renew(
    context: &Context,
    record: &StoredCredentials,
    fields: Fields,
) -> Result<StoredCredentials, TokenRequestError> {
    let endpoint = Url::parse(&record.token_endpoint)
        .map_err(|_| Error::at(&record.issuer, "its token endpoint is not a URL; log in again"))?;
    let StoredCredentials { issuer, resource, client, key, .. } = record;
    let request = TokenRequest { context, endpoint: &endpoint, issuer, resource, client, key: key.as_ref() };
    let mut tokens = request.send(fields).await?;
    if let Some(before) = &record.tokens {
        // The old refresh token remains valid if there is no new one (RFC 6749, section 6).
        tokens.refresh = tokens.refresh.or_else(|| before.refresh.clone());
        if tokens.scopes.is_empty() {
            tokens.scopes.clone_from(&before.scopes);
        }
    }
    Ok(StoredCredentials { tokens: Some(tokens), ..record.clone() })
}
