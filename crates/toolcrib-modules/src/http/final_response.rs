//! The response at the end of all redirects.

use toolcrib_io::http::Response;
use url::Url;

/// A response, and its origin.
pub(super) struct FinalResponse {
    pub(super) response: Response,
    /// The URL of the response, after redirects.
    pub(super) url: Url,
    /// True if the request was redirected.
    pub(super) was_redirected: bool,
    /// The reason why a redirect response was not followed.
    pub(super) redirect_refusal: Option<String>,
}

impl FinalResponse {
    /// Returns the URL without its query and fragment, which often hold keys.
    pub(super) fn shown(&self) -> String {
        format!("{}{}", self.url.origin().ascii_serialization(), self.url.path())
    }
}
