//! Token requests, and the tokens that they obtain.

use http::Method;
use http::header::HeaderMap;
use serde::{Deserialize, Serialize};
use toolcrib_model::Secret;
use url::Url;

use super::clock::unix_now;
use super::context::Context;
use super::dpop;
use super::form::{FORM, Fields, form_body};
use super::http_client::is_transient;
use super::registration::OAuthClient;
use super::scopes;
use super::stored_secret::{exposed, exposed_optional};
use super::token_response::TokenResponse;
use crate::Error;
use crate::metadata::display_url;

/// The fields of a request that are secret.
const SECRET_FIELDS: &[&str] = &["code", "code_verifier", "refresh_token", "assertion", "subject_token"];

/// The errors that a later request with the same grant gets as well.
const FINAL_ERRORS: &[&str] = &["invalid_grant", "invalid_client", "unauthorized_client", "invalid_scope"];

/// The tokens of one response.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Tokens {
    #[serde(serialize_with = "exposed")]
    pub(super) access: Secret,
    #[serde(default, serialize_with = "exposed_optional")]
    pub(super) refresh: Option<Secret>,
    /// The time at which to renew them, in seconds since 1970.
    #[serde(default)]
    pub(super) renew_at: Option<u64>,
    /// The time at which they expire, in seconds since 1970; `None` if the issuer does not say.
    #[serde(default)]
    pub(super) expires_at: Option<u64>,
    /// The granted scopes, if the issuer reports them.
    #[serde(default)]
    pub(super) scopes: Vec<String>,
    /// True if the access token is bound to the stored key.
    #[serde(default)]
    pub(super) is_bound: bool,
}

impl Tokens {
    pub(super) fn should_be_renewed(&self) -> bool {
        self.renew_at.is_some_and(|time| unix_now() >= time)
    }

    pub(super) fn has_ended(&self) -> bool {
        self.expires_at.is_some_and(|time| unix_now() >= time)
    }
}

/// The error of a token request.
#[derive(Debug)]
pub(super) enum TokenRequestError {
    /// The issuer rejects the grant permanently.
    Rejected(Error),
    /// Any other failure.
    Failed(Error),
}

impl TokenRequestError {
    pub(super) fn error(self) -> Error {
        match self {
            Self::Rejected(error) | Self::Failed(error) => error,
        }
    }
}

impl From<Error> for TokenRequestError {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// The parameters of a token request.
pub(super) struct TokenRequest<'a> {
    pub(super) context: &'a Context,
    pub(super) endpoint: &'a Url,
    pub(super) issuer: &'a str,
    pub(super) resource: &'a str,
    pub(super) client: &'a OAuthClient,
    /// The key to bind the tokens to.
    pub(super) key: Option<&'a Secret>,
}

impl TokenRequest<'_> {
    /// Requests tokens. Bound ones are accepted only if there is a key.
    pub(super) async fn send(&self, fields: Fields) -> Result<Tokens, TokenRequestError> {
        let response = self.ask(fields).await?;
        let is_bound =
            self.key.is_some() && response.text("token_type").is_some() && response.is_of_type("dpop");
        if !is_bound && !response.is_of_type("bearer") {
            return Err(Error::at_url(self.endpoint, "the token that it issues is not a bearer token").into());
        }
        let life = response.lifetime();
        let now = unix_now();
        let tokens = Tokens {
            access: self.access_token(&response)?,
            refresh: response.token("refresh_token"),
            renew_at: life.map(|life| now + life.usable.as_secs()),
            expires_at: life.map(|life| now + life.whole.as_secs()),
            scopes: response.text("scope").map(scopes::read).unwrap_or_default(),
            is_bound,
        };
        tracing::debug!(
            endpoint = display_url(self.endpoint),
            life = life.map(|life| life.whole.as_secs()),
            "a token was issued"
        );
        Ok(tokens)
    }

    /// Exchanges a token for one of this type, which is not for requests to a server.
    pub(super) async fn exchange(&self, fields: Fields, kind: &str) -> Result<Secret, TokenRequestError> {
        let response = self.ask(fields).await?;
        if response.text("issued_token_type") != Some(kind) {
            let problem = "what it gives in exchange is not what it was asked for";
            return Err(Error::at_url(self.endpoint, problem).into());
        }
        Ok(self.access_token(&response)?)
    }

    fn access_token(&self, response: &TokenResponse) -> Result<Secret, Error> {
        let missing = || Error::at_url(self.endpoint, "its answer has no `access_token` that can be sent");
        response.token("access_token").ok_or_else(missing)
    }

    /// Sends the request. Returns the response if it is not an error.
    async fn ask(&self, mut fields: Fields) -> Result<TokenResponse, TokenRequestError> {
        let is_secret = |(name, _): &&(&str, String)| SECRET_FIELDS.contains(name);
        let mut secrets: Vec<Secret> =
            fields.iter().filter(is_secret).map(|(_, value)| Secret::new(value)).collect();
        fields.push(("resource", self.resource.to_owned()));
        let Context { settings, http_client, issuer_nonce, .. } = self.context;
        let mut is_second = false;
        loop {
            let (mut fields, mut headers) = (fields.clone(), HeaderMap::new());
            let own = self.client.authenticate(settings, self.issuer, &mut fields, &mut headers)?;
            secrets.extend(own);
            if let Some(key) = self.key {
                let proof = dpop::proof(key, &Method::POST, self.endpoint, issuer_nonce, None)?;
                headers.insert(dpop::PROOF, proof);
            }
            let posted = http_client.post(self.endpoint, FORM, headers, form_body(fields)).await?;
            let response = TokenResponse::new(&posted);
            let error = response.text("error");
            let has_nonce = self.key.is_some() && issuer_nonce.note(&posted.headers);
            if has_nonce && error == Some(dpop::USE_NONCE) && !is_second {
                is_second = true;
                continue;
            }
            // Some servers report errors with status 200.
            if response.status.is_success() && error.is_none() {
                return Ok(response);
            }
            let is_transient = is_transient(response.status);
            let problem = format!("it issues no token ({}", response.error(")", &secrets));
            let failure = Error::at_url(self.endpoint, problem).transient(is_transient);
            let is_final = !is_transient && error.is_some_and(|error| FINAL_ERRORS.contains(&error));
            return Err(if is_final { TokenRequestError::Rejected(failure) } else { failure.into() });
        }
    }
}
