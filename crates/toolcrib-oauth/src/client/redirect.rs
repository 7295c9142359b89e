//! The user's round trip to the authorization server.

use std::fmt;

use async_trait::async_trait;
use toolcrib_model::Secret;
use url::Url;

/// A way to send the user to the authorization server: a browser, or a test that fetches the URL and follows the
/// redirect.
#[async_trait]
pub trait Authorize: Send + Sync {
    /// Returns the URI that the authorization server redirects the user to, with `code` and `state` in the query.
    fn redirect_uri(&self) -> &str;

    /// Has the user visit the URL, and returns the parameters of the redirect. The user sees the text of an error.
    async fn authorize(&self, url: &Url) -> Result<Redirect, String>;
}

/// The parameters of the redirect from the authorization server.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Redirect {
    /// The code to exchange for tokens.
    pub code: Option<Secret>,
    /// The `state` of the authorization request.
    pub state: Option<String>,
    /// The issuer, as the authorization server names itself (RFC 9207).
    pub issuer: Option<String>,
    /// The error code, if there is no code.
    pub error: Option<String>,
    /// The description of the error.
    pub error_description: Option<String>,
}

impl Redirect {
    /// Parses the query of the redirect. A parameter that occurs twice is ignored: its value is ambiguous.
    ///
    /// ```
    /// use toolcrib_oauth::client::Redirect;
    ///
    /// let redirect = Redirect::from_url(&"http://127.0.0.1:1/callback?code=c&state=s".parse()?);
    /// assert_eq!(redirect.state.as_deref(), Some("s"));
    /// # Ok::<(), url::ParseError>(())
    /// ```
    pub fn from_url(url: &Url) -> Self {
        let one = |name: &str| {
            let mut values = url.query_pairs().filter(|(key, _)| key == name).map(|(_, value)| value);
            match (values.next(), values.next()) {
                (Some(value), None) => Some(value.into_owned()),
                _ => None,
            }
        };
        Self::from_parameters(one)
    }

    /// Creates the redirect from its parameters. `one` returns the value of a parameter that occurs once.
    pub fn from_parameters(one: impl Fn(&str) -> Option<String>) -> Self {
        Self {
            code: one("code").filter(|code| !code.is_empty()).map(Secret::new),
            state: one("state"),
            issuer: one("iss"),
            error: one("error"),
            error_description: one("error_description"),
        }
    }
}

impl fmt::Debug for Redirect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redirect")
            .field("code", &self.code)
            .field("issuer", &self.issuer)
            .field("error", &self.error)
            .finish_non_exhaustive()
    }
}
