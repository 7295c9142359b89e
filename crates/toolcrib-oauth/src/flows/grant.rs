//! The grants without a user's login: by client credentials, or by an assertion of an identity provider.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;

use toolcrib_model::Secret;

use super::context::Context;
use super::discovery::{NO_METADATA, server_metadata};
use super::form::Fields;
use super::registration::OAuthClient;
use super::token_request::{TokenRequest, TokenRequestError};
use super::token_response::is_valid_token;
use crate::client::{Grant, IdentityProvider, IdentityToken};
use crate::{Error, MAX_TOKEN_BYTES};

/// The grant by a third party's assertion (RFC 7523).
const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/// The grant that exchanges one token for another (RFC 8693).
pub(super) const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";

const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";

/// The type of an identity provider's assertion to the authorization server of another organization.
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";

/// Returns the fields of a token request, by the grant that the operator has configured. `resource` is the server,
/// `issuer` the issuer of the tokens.
pub(super) async fn fields(
    context: &Context,
    resource: &str,
    issuer: &str,
    scopes: &[String],
) -> Result<Fields, TokenRequestError> {
    let assertion = match &context.settings.grant {
        Grant::ClientCredentials | Grant::AuthorizationCode => None,
        Grant::TokenExchange(_) => {
            return Err(
                Error::at(&context.namespace, "the token of each caller is exchanged by itself").into()
            );
        }
        Grant::WorkloadIdentity(token) => Some(identity_token(context, token)?),
        Grant::EnterpriseManaged(provider, token) => {
            let subject = identity_token(context, token)?;
            let exchanged = exchange(context, provider, &subject, (resource, issuer), scopes).await?;
            Some(Cow::Owned(exchanged))
        }
    };
    let mut fields = match assertion {
        None => vec![("grant_type", "client_credentials".to_owned())],
        Some(assertion) => {
            vec![("grant_type", JWT_BEARER.to_owned()), ("assertion", assertion.expose().to_owned())]
        }
    };
    push_scopes(&mut fields, scopes);
    Ok(fields)
}

/// Adds the scopes to the fields of a request, if there are any.
fn push_scopes(fields: &mut Fields, scopes: &[String]) {
    if !scopes.is_empty() {
        fields.push(("scope", scopes.join(" ")));
    }
}

/// Exchanges the user's identity token for the provider's assertion of the identity to the issuer.
async fn exchange(
    context: &Context,
    provider: &IdentityProvider,
    subject: &Secret,
    (resource, issuer): (&str, &str),
    scopes: &[String],
) -> Result<Secret, TokenRequestError> {
    let server = server_metadata(&context.http_client, &provider.issuer).await?;
    let server = server.ok_or_else(|| Error::at(&provider.issuer, NO_METADATA))?;
    let client = OAuthClient::at_provider(provider, &server);
    let (endpoint, at_provider) = (&server.token_endpoint, &*server.issuer);
    let mut fields = vec![
        ("grant_type", TOKEN_EXCHANGE.to_owned()),
        ("requested_token_type", ID_JAG.to_owned()),
        ("audience", issuer.to_owned()),
        ("subject_token", subject.expose().to_owned()),
        ("subject_token_type", ID_TOKEN.to_owned()),
    ];
    push_scopes(&mut fields, scopes);
    let request =
        TokenRequest { context, endpoint, issuer: at_provider, resource, client: &client, key: None };
    request.exchange(fields, ID_JAG).await
}

/// Returns the current identity token: its issuer writes a new one into the file before the last one expires.
fn identity_token<'a>(context: &Context, token: &'a IdentityToken) -> Result<Cow<'a, Secret>, Error> {
    let wrong = |problem: &str| Error::at(&context.namespace, problem);
    let token = match token {
        IdentityToken::Text(token) => Cow::Borrowed(token),
        IdentityToken::File(path) => Cow::Owned(read(path).map_err(|problem| {
            wrong(&format!("`identity_token_file` {} cannot be used: {problem}", path.display()))
        })?),
    };
    if !is_valid_token(token.expose()) {
        return Err(wrong("its identity token is not a valid token"));
    }
    context.settings.register_secret(&token);
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
