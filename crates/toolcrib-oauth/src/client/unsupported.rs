//! The types of the flows in a program without them. No value of them exists, except of those that are made without an
//! error to return; their methods fail.

use std::convert::Infallible;
use std::sync::Arc;

use http::{HeaderMap, Method, StatusCode};
use toolcrib_io::http::{HttpClient, Request, Response};
use toolcrib_io::table::SharedTable;
use toolcrib_model::{Secret, SubjectToken};
use toolcrib_policy::Access;
use url::Url;

use super::types::{AccessToken, ClientCredentials, LoginSummary, Probe, SecretSink};
use super::{Authorize, ClientSettings};
use crate::Error;

/// Declares types without values. Their contents are private, so that other modules compile as if there were some.
macro_rules! without_values {
    ($($name:ident: $text:literal,)*) => {$(
        #[doc = $text]
        #[derive(Clone, Debug)]
        pub struct $name(Infallible);
    )*};
}

without_values! {
    Authorization: "The authorization at one server.",
    RequestAuthorization: "The authorization of one request.",
    TokenExchange: "A source of tokens that are exchanged for those of callers.",
}

/// Declares types whose values do nothing.
macro_rules! without_contents {
    ($($name:ident: $text:literal,)*) => {$(
        #[doc = $text]
        #[derive(Clone, Debug, Default)]
        #[non_exhaustive]
        pub struct $name;
    )*};
}

without_contents! {
    TokenSource: "A source of tokens.",
    TokenStore: "A store for tokens.",
}

impl Authorization {
    /// Fails.
    pub fn new(
        _namespace: &str,
        _server: &str,
        _allow_private: bool,
        _settings: ClientSettings,
        _probe: Option<Probe>,
    ) -> Result<Self, Error> {
        Err(Error::Unsupported)
    }

    /// Has the user log in.
    pub async fn login(&self, _authorize: &dyn Authorize) -> Result<LoginSummary, Error> {
        match self.0 {}
    }

    /// Returns the secrets of the client and the server.
    pub fn secrets(&self) -> Vec<Secret> {
        match self.0 {}
    }

    /// Begins the authorization of a request.
    pub async fn request(&self) -> Result<RequestAuthorization, Error> {
        match self.0 {}
    }

    /// Sends a request with a token.
    pub async fn send(
        &self,
        _client: &HttpClient,
        _request: Request,
    ) -> Result<Result<Response, toolcrib_io::Error>, Error> {
        match self.0 {}
    }
}

impl RequestAuthorization {
    /// Returns the token that the next attempt sends.
    pub fn token(&self) -> Option<&Secret> {
        match self.0 {}
    }

    /// Returns the headers of the next attempt.
    pub fn headers(&self, _method: &Method, _url: &Url) -> Result<HeaderMap, Error> {
        match self.0 {}
    }

    /// Obtains another token.
    pub async fn recover(&mut self, _status: StatusCode, _challenge: &str) -> Result<bool, Error> {
        match self.0 {}
    }
}

impl TokenExchange {
    /// Fails.
    pub fn new(
        _settings: ClientCredentials,
        _resource: Option<String>,
        _access: &Access,
        _on_secret: Option<SecretSink>,
    ) -> Result<Self, Error> {
        Err(Error::Unsupported)
    }

    /// Returns the token of a caller.
    pub async fn token(&self, _user: &str, _subject: &SubjectToken) -> Result<AccessToken, Error> {
        match self.0 {}
    }

    /// Discards the token of a caller.
    pub async fn discard(&self, _user: &str, _subject: &SubjectToken, _rejected: &Secret) {
        match self.0 {}
    }
}

impl TokenSource {
    /// Creates a source that fails.
    pub fn new(_settings: ClientCredentials, _client: HttpClient, _url: Url) -> Self {
        Self
    }

    /// Fails.
    pub async fn token(&self) -> Result<AccessToken, Error> {
        Err(Error::Unsupported)
    }

    /// Does nothing: there is no token.
    pub async fn discard(&self, _number: u64) {}
}

impl TokenStore {
    /// Fails.
    pub fn of_user() -> Result<Self, String> {
        Err(Error::Unsupported.to_string())
    }

    /// Fails.
    pub fn shared(_table: Arc<dyn SharedTable>) -> Result<Self, String> {
        Err(Error::Unsupported.to_string())
    }
}
