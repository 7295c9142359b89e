//! The authorization of one request, which is sent again with another token if the server rejects the first one.

use http::header::WWW_AUTHENTICATE;
use http::{HeaderMap, Method, StatusCode};
use toolcrib_io::http::{HttpClient, Request, Response, header_text};
use toolcrib_model::Secret;
use url::Url;

use super::authorization::{Authorization, RecoveryStep, TriedSteps};
use super::challenge::Challenge;
use super::dpop::Credential;
use crate::Error;

/// The authorization of one request. A server that requires another token has not processed the request.
pub struct RequestAuthorization<'a> {
    authorization: &'a Authorization,
    credential: Option<Credential>,
    tried: TriedSteps,
}

impl Authorization {
    /// Begins the authorization of a request.
    pub async fn request(&self) -> Result<RequestAuthorization<'_>, Error> {
        let credential = self.token().await?;
        if credential.is_none() {
            self.check_needs_token()?;
        }
        Ok(RequestAuthorization { authorization: self, credential, tried: TriedSteps::default() })
    }

    /// Sends a request with a token.
    pub async fn send(
        &self,
        client: &HttpClient,
        request: Request,
    ) -> Result<Result<Response, toolcrib_io::Error>, Error> {
        let mut authorization = self.request().await?;
        loop {
            let mut request = request.clone();
            request.headers.extend(authorization.headers(&request.method, &request.url)?);
            let response = match client.send(request).await {
                Ok(response) => response,
                failed @ Err(_) => return Ok(failed),
            };
            let challenge = header_text(&response.headers, WWW_AUTHENTICATE).unwrap_or_default();
            let challenge = Challenge::read(challenge);
            let has_nonce = self.note_nonce(&response.headers) && challenge.wants_nonce();
            if has_nonce && authorization.tried.begin(RecoveryStep::Nonce) {
                continue;
            }
            if !authorization.recover_from(response.status, &challenge).await? {
                return Ok(Ok(response));
            }
        }
    }
}

impl RequestAuthorization<'_> {
    /// Returns the token that the next attempt sends, for redaction.
    pub fn token(&self) -> Option<&Secret> {
        self.credential.as_ref().map(|credential| &credential.token)
    }

    /// Returns the headers of the next attempt.
    pub fn headers(&self, method: &Method, url: &Url) -> Result<HeaderMap, Error> {
        match &self.credential {
            Some(credential) => self.authorization.headers(credential, method, url),
            None => Ok(HeaderMap::new()),
        }
    }

    /// Obtains another token after a response with this status and challenge. Returns false if the response is not
    /// about authorization.
    pub async fn recover(&mut self, status: StatusCode, challenge: &str) -> Result<bool, Error> {
        self.recover_from(status, &Challenge::read(challenge)).await
    }

    async fn recover_from(&mut self, status: StatusCode, challenge: &Challenge) -> Result<bool, Error> {
        let (authorization, sent) = (self.authorization, self.credential.as_ref());
        // Boxed because both are large and rarely needed.
        self.credential = Some(match status {
            StatusCode::UNAUTHORIZED => {
                Box::pin(authorization.replacement(sent, challenge, &mut self.tried)).await?
            }
            StatusCode::FORBIDDEN if challenge.wants_scopes() => {
                Box::pin(authorization.with_more_scopes(sent, challenge, &mut self.tried)).await?
            }
            _ => return Ok(false),
        });
        Ok(true)
    }
}
