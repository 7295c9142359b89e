//! The grants without a user's login: by client credentials, or by an assertion of an identity provider.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;

use toolcrib_model::Secret;

use super::client::{OAuthClient, secret_method};
use super::discovery::server_metadata;
use super::metadata::authorization_error;
use super::token_manager::TokenManager;
use super::token_request::{MAX_TOKEN_BYTES, TokenError, TokenRequest, is_valid_token};
use super::{Grant, IdentityToken};
use crate::error::Error;

/// The grant by a third party's assertion (RFC 7523).
const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/// The grant that exchanges one token for another (RFC 8693).
const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";

const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";

/// The type of an identity provider's assertion to the authorization server of another organization.
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";

/// Returns the fields of a token request, by the grant that the operator has configured. `resource` is the server,
/// `issuer` the issuer of the tokens.
pub(super) async fn fields(
    inner: &TokenManager,
    resource: &str,
    issuer: &str,
    scopes: &[String],
) -> Result<Vec<(&'static str, String)>, TokenError> {
    let mut fields = match inner.auth.grant {
        Grant::ClientCredentials | Grant::AuthorizationCode => {
            vec![("grant_type", "client_credentials".to_owned())]
        }
        Grant::WorkloadIdentity => assertion_fields(&identity_token(inner).map_err(TokenError::Failed)?),
        Grant::EnterpriseManaged => {
            assertion_fields(&exchange_identity_token(inner, resource, issuer, scopes).await?)
        }
    };
    if !scopes.is_empty() {
        fields.push(("scope", scopes.join(" ")));
    }
    Ok(fields)
}

fn assertion_fields(assertion: &Secret) -> Vec<(&'static str, String)> {
    vec![("grant_type", JWT_BEARER.to_owned()), ("assertion", assertion.expose().to_owned())]
}

/// Obtains the identity provider's assertion of the user's identity to the issuer.
async fn exchange_identity_token(
    inner: &TokenManager,
    resource: &str,
    issuer: &str,
    scopes: &[String],
) -> Result<Secret, TokenError> {
    let provider = inner.auth.identity_provider.as_ref();
    let provider = provider.ok_or_else(|| wrong(inner, "`auth.identity_provider` is missing"))?;
    let server = server_metadata(&inner.http_client, &provider.issuer).await.map_err(TokenError::Failed)?;
    let server = server.ok_or_else(|| {
        TokenError::Failed(authorization_error(&provider.issuer, "it publishes no metadata"))
    })?;
    let secret = provider.client_secret.clone();
    let client = OAuthClient::of_provider(&provider.client_id, secret, || secret_method(&server));
    let request = TokenRequest {
        auth: &inner.auth,
        http_client: &inner.http_client,
        endpoint: &server.token_endpoint,
        issuer: &server.issuer,
        resource,
        client: &client,
        key: None,
        nonce: &inner.issuer_nonce,
    };
    let subject = identity_token(inner).map_err(TokenError::Failed)?;
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

fn wrong(inner: &TokenManager, problem: &str) -> TokenError {
    TokenError::Failed(authorization_error(&inner.namespace, problem))
}

/// Returns the current identity token: its issuer writes a new one into the file before the last one expires.
fn identity_token(inner: &TokenManager) -> Result<Secret, Error> {
    let wrong = |problem: &str| authorization_error(&inner.namespace, problem);
    let token = match &inner.auth.identity_token {
        Some(IdentityToken::Text(token)) => token.clone(),
        Some(IdentityToken::File(path)) => read(path).map_err(|problem| {
            wrong(&format!("`auth.identity_token_file` {} cannot be used: {problem}", path.display()))
        })?,
        None => return Err(wrong("`auth.identity_token` is missing; set it, or `identity_token_file`")),
    };
    if !is_valid_token(token.expose()) {
        return Err(wrong("its identity token is not a valid token"));
    }
    inner.register_secret(&token);
    Ok(token)
}

fn read(path: &Path) -> Result<Secret, String> {
    let message = |error: std::io::Error| error.to_string();
    // Reading from other kinds of files might never end.
    if !fs::metadata(path).map_err(message)?.is_file() {
        return Err("it is not a file".into());
    }
    let mut text = String::new();
    let limit = u64::try_from(MAX_TOKEN_BYTES).unwrap_or(u64::MAX).saturating_add(1);
    File::open(path).map_err(message)?.take(limit).read_to_string(&mut text).map_err(message)?;
    Ok(Secret::new(text.trim()))
}
