//! The data that the client takes and returns, which exist without the feature `flows` too.

use std::sync::Arc;
use std::time::Duration;

use http::header::HeaderValue;
#[cfg(feature = "flows")]
use tokio::time::Instant;
use toolcrib_model::Secret;

/// The default time for a user to log in.
pub const LOGIN_TIMEOUT: Duration = Duration::from_mins(5);

/// A callback that receives each secret that a server issues, for redaction.
pub type SecretSink = Arc<dyn Fn(&Secret) + Send + Sync>;

/// The settings of a client at a token endpoint, and the tokens to request.
#[derive(Clone, Debug)]
pub struct ClientCredentials {
    /// The URL that issues tokens. It is never taken from a document, which could then choose the recipient of the
    /// secret.
    pub token_url: String,
    /// The client id.
    pub client_id: String,
    /// The client secret.
    pub client_secret: Secret,
    /// The requested scopes.
    pub scopes: Vec<String>,
    /// The audience of the token, if the issuer requires one.
    pub audience: Option<String>,
    /// True if id and secret are sent in the body. By default they are sent in the `Authorization` header, as the
    /// standard recommends.
    pub secret_in_body: bool,
}

/// A token as a header value.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AccessToken {
    /// The token.
    pub token: Secret,
    /// The value of the header `Authorization`.
    pub header: HeaderValue,
    /// The sequence number of the token.
    pub number: u64,
    /// The time until which it is used. `None` if the issuer does not declare a lifetime.
    #[cfg(feature = "flows")]
    pub(crate) usable_until: Option<Instant>,
}

/// A request without side effects, by which the server says what authorization it requires.
#[derive(Clone, Debug)]
pub struct Probe {
    /// The `Accept` header.
    pub accept: &'static str,
    /// The body, which is JSON.
    pub body: String,
}

/// The result of a login.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoginSummary {
    /// The issuer of the tokens.
    pub issuer: String,
    /// The resource that they are for.
    pub resource: String,
    /// The granted scopes, if the issuer reports them.
    pub scopes: Vec<String>,
    /// True if the tokens can be renewed without another login.
    pub is_renewed: bool,
}

/// Returns a word of a command as a shell takes it.
pub fn shell_quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '@' | ':');
    if word.chars().all(is_plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}
