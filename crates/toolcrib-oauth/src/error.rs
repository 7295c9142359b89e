//! The errors of obtaining a token.

#[cfg(feature = "flows")]
use toolcrib_model::text::clean_text;
#[cfg(feature = "flows")]
use url::Url;

#[cfg(feature = "flows")]
use crate::metadata::{MAX_URL_BYTES, display_url};

/// An error that leaves a request without a token.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The program was built without the requests for tokens.
    #[error("this program obtains no tokens; build it with the feature `oauth`")]
    Unsupported,
    /// The server requires a login, and no user has logged in.
    #[error("needs login: {login} ({why})")]
    NeedsLogin {
        /// The command to log in with.
        login: String,
        /// The reason that a login is needed.
        why: String,
    },
    /// Authorization failed.
    #[error("authorization at `{at}` failed: {problem}")]
    Failed {
        /// The server, authorization server or file that failed.
        at: String,
        /// The problem, and the remedy.
        problem: String,
        /// True if a later attempt may succeed.
        is_transient: bool,
    },
}

#[cfg(feature = "flows")]
impl Error {
    pub(crate) fn at(at: &str, problem: impl Into<String>) -> Self {
        Self::Failed { at: clean_text(at, MAX_URL_BYTES), problem: problem.into(), is_transient: false }
    }

    pub(crate) fn at_url(url: &Url, problem: impl Into<String>) -> Self {
        Self::at(&display_url(url), problem)
    }

    /// Sets whether a later attempt may succeed.
    pub(crate) fn transient(mut self, is_so: bool) -> Self {
        if let Self::Failed { is_transient, .. } = &mut self {
            *is_transient = is_so;
        }
        self
    }
}

impl Error {
    /// Returns true if a later attempt may succeed without any action.
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::Failed { is_transient: true, .. })
    }
}
