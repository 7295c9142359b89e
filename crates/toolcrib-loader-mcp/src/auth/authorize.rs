//! Taking the user to the authorization server and back.

use std::fmt;

use async_trait::async_trait;
use toolcrib_model::Secret;
use url::Url;

/// Takes the user to the authorization server: a browser, or a test that fetches the URL and reads where it is
/// redirected to.
#[async_trait]
pub trait Authorize: Send + Sync {
    /// Where the authorization server sends the user back to, with `code` and `state` in the query.
    fn redirect_uri(&self) -> &str;

    /// Has the URL visited, and returns what came to the redirect URI. The text of an error is told to the user.
    async fn authorize(&self, url: &Url) -> Result<Redirect, String>;
}

/// What the authorization server sends back by the user.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Redirect {
    /// What tokens are issued for.
    pub code: Option<Secret>,
    /// The `state` of our request.
    pub state: Option<String>,
    /// Who the authorization server says it is (RFC 9207).
    pub issuer: Option<String>,
    /// Why there is no code.
    pub error: Option<String>,
    /// The same in words.
    pub error_description: Option<String>,
}

impl Redirect {
    /// Reads the query of the URL that the user was sent back to. Of a parameter that is there twice, neither counts:
    /// nobody can tell which of them is meant.
    ///
    /// ```
    /// use toolcrib_loader_mcp::Redirect;
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
