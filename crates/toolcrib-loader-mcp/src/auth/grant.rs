//! What we ask for tokens with where no user logs in: our own credentials, or what others say of who we are.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;

use toolcrib_model::Secret;

use super::client::{Client, by_secret};
use super::discovery::server_metadata;
use super::inner::Inner;
use super::metadata::refused;
use super::token::{MAX_TOKEN_BYTES, Refusal, TokenRequest, is_token};
use super::{Grant, IdentityToken};
use crate::error::Error;

/// The grant by an assertion of others (RFC 7523).
const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/// The grant that exchanges one token for another (RFC 8693).
const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";

const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";

/// What an identity provider says to the authorization server of somebody else.
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";

/// The fields of a request for tokens, by the grant that the operator has set. `resource` is the server, `issuer` who
/// issues the tokens.
pub(super) async fn fields(
    inner: &Inner,
    resource: &str,
    issuer: &str,
    scopes: &[String],
) -> Result<Vec<(&'static str, String)>, Refusal> {
    let mut fields = match inner.auth.grant {
        Grant::ClientCredentials | Grant::AuthorizationCode => {
            vec![("grant_type", "client_credentials".to_owned())]
        }
        Grant::WorkloadIdentity => by_assertion(&identity(inner).map_err(Refusal::Failed)?),
        Grant::EnterpriseManaged => by_assertion(&exchanged(inner, resource, issuer, scopes).await?),
    };
    if !scopes.is_empty() {
        fields.push(("scope", scopes.join(" ")));
    }
    Ok(fields)
}

fn by_assertion(assertion: &Secret) -> Vec<(&'static str, String)> {
    vec![("grant_type", JWT_BEARER.to_owned()), ("assertion", assertion.expose().to_owned())]
}

/// Has the identity provider say to the issuer who the user is.
async fn exchanged(
    inner: &Inner,
    resource: &str,
    issuer: &str,
    scopes: &[String],
) -> Result<Secret, Refusal> {
    let provider = inner.auth.identity_provider.as_ref();
    let provider = provider.ok_or_else(|| wrong(inner, "`auth.identity_provider` is missing"))?;
    let server = server_metadata(&inner.door, &provider.issuer).await.map_err(Refusal::Failed)?;
    let server =
        server.ok_or_else(|| Refusal::Failed(refused(&provider.issuer, "it publishes no metadata")))?;
    let secret = provider.client_secret.clone();
    let client = Client::of_provider(&provider.client_id, secret, || by_secret(&server));
    let request = TokenRequest {
        auth: &inner.auth,
        door: &inner.door,
        endpoint: &server.token_endpoint,
        issuer: &server.issuer,
        resource,
        client: &client,
        key: None,
        nonce: &inner.issuer_nonce,
    };
    let subject = identity(inner).map_err(Refusal::Failed)?;
    let mut fields = vec![
        ("grant_type", TOKEN_EXCHANGE.to_owned()),
        ("requested_token_type", ID_JAG.to_owned()),
        ("audience", issuer.to_owned()),
        ("subject_token", subject.expose().to_owned()),
        ("subject_token_type", ID_TOKEN.to_owned()),
    ];
    if !scopes.is_empty() {
        fields.push(("scope", scopes.join(" ")));
    }
    request.exchange(fields, ID_JAG).await
}

fn wrong(inner: &Inner, problem: &str) -> Refusal {
    Refusal::Failed(refused(&inner.namespace, problem))
}

/// The identity token, as it is now: whoever issues it writes a new one into its file before the last one ends.
fn identity(inner: &Inner) -> Result<Secret, Error> {
    let wrong = |problem: &str| refused(&inner.namespace, problem);
    let token = match &inner.auth.identity_token {
        Some(IdentityToken::Text(token)) => token.clone(),
        Some(IdentityToken::File(path)) => read(path).map_err(|problem| {
            wrong(&format!("`auth.identity_token_file` {} cannot be used: {problem}", path.display()))
        })?,
        None => return Err(wrong("`auth.identity_token` is missing; set it, or `identity_token_file`")),
    };
    if !is_token(token.expose()) {
        return Err(wrong("what is to be its identity token is none"));
    }
    inner.tell_of(&token);
    Ok(token)
}

fn read(path: &Path) -> Result<Secret, String> {
    let told = |error: std::io::Error| error.to_string();
    // Others would never come to an end.
    if !fs::metadata(path).map_err(told)?.is_file() {
        return Err("it is no file".into());
    }
    let mut text = String::new();
    let limit = u64::try_from(MAX_TOKEN_BYTES).unwrap_or(u64::MAX).saturating_add(1);
    File::open(path).map_err(told)?.take(limit).read_to_string(&mut text).map_err(told)?;
    Ok(Secret::new(text.trim()))
}
