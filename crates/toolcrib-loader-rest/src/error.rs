//! The errors of a source, its document and its calls.

use toolcrib_model::text::ellipsize_chars;
use toolcrib_model::{ErrorKind, ToolError};
use toolcrib_port::RejectKind;

/// An error in the settings of a source, in its document, or in the arguments of a call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A setting of the source cannot be used.
    #[error("`{setting}` of the OpenAPI source {source_name}: {problem}")]
    Setting {
        /// The name of the setting in an app file.
        setting: &'static str,
        /// The source.
        source_name: String,
        /// The problem and its solution.
        problem: String,
    },
    /// The caller has no credentials.
    #[error("{0}")]
    Caller(Box<ToolError>),
    /// The HTTP client could not be made.
    #[error("cannot make the HTTP client: {reason}")]
    Client {
        /// The cause.
        reason: String,
    },
    /// The text is not an OpenAPI document.
    #[error("expected an `openapi` version at the top; is this an OpenAPI document?")]
    NotOpenApi,
    /// The version is not supported.
    #[error("{format} {version} is not supported; convert the document to OpenAPI 3.0, 3.1 or 3.2")]
    Version {
        /// `OpenAPI` or `Swagger`.
        format: &'static str,
        /// The version as written in the document.
        version: String,
    },
    /// A reference leaves the document and its folder.
    #[error(
        "the reference `{reference}` leaves the folder of the document, and is not followed; bundle the document into \
         one file"
    )]
    ExternalReference {
        /// The reference.
        reference: String,
    },
    /// A reference names a file that cannot be read.
    #[error("the file that the reference `{reference}` names cannot be read: {reason}")]
    UnreadableReference {
        /// The reference.
        reference: String,
        /// The cause.
        reason: String,
    },
    /// A reference points to a missing value.
    #[error("the reference `{reference}` points to nothing in the document")]
    DanglingReference {
        /// The reference.
        reference: String,
    },
    /// A chain of references is circular or too long.
    #[error("the reference `{reference}` is circular, or its chain is too long")]
    ReferenceLoop {
        /// One of the references.
        reference: String,
    },
    /// A limit was exceeded.
    #[error("{what} has more than {max} values")]
    TooLarge {
        /// The part that is too large.
        what: &'static str,
        /// The limit.
        max: usize,
    },
    /// A part of the document violates the OpenAPI specification.
    #[error("{problem}")]
    Malformed {
        /// The problem and its location.
        problem: String,
    },
    /// A part of the document uses an unsupported feature.
    #[error("{what} is not supported yet")]
    Unsupported {
        /// The part.
        what: String,
    },
    /// An argument cannot be sent.
    #[error("the argument `{argument}` {problem}")]
    Argument {
        /// The argument.
        argument: String,
        /// The problem.
        problem: String,
    },
    /// No token could be obtained for a call.
    #[error("no token from {issuer}: {problem}")]
    Token {
        /// The URL that issues tokens, without its query.
        issuer: String,
        /// The problem.
        problem: String,
        /// True if a later attempt may succeed.
        passes: bool,
    },
    /// The user has to log in first.
    #[error("needs login: {login} ({why})")]
    NeedsLogin {
        /// The command to log in with.
        login: String,
        /// The reason that a login is needed.
        why: String,
    },
    /// There is no server for the call.
    #[error("{problem}; set `base_url` for this source")]
    NoServer {
        /// The problem.
        problem: String,
    },
}

/// The most characters of a reference that a message includes.
const MAX_REPORTED_CHARS: usize = 200;

/// Returns the beginning of a text from the document, for messages.
pub(crate) fn beginning(text: &str) -> String {
    ellipsize_chars(text, MAX_REPORTED_CHARS).into_owned()
}

impl Error {
    pub(crate) fn external(reference: &str) -> Self {
        Self::ExternalReference { reference: beginning(reference) }
    }

    pub(crate) fn unreadable(reference: &str, reason: &str) -> Self {
        Self::UnreadableReference { reference: beginning(reference), reason: beginning(reason) }
    }

    pub(crate) fn dangling(reference: &str) -> Self {
        Self::DanglingReference { reference: beginning(reference) }
    }

    pub(crate) fn circular(reference: &str) -> Self {
        Self::ReferenceLoop { reference: beginning(reference) }
    }

    pub(crate) fn malformed(problem: impl Into<String>) -> Self {
        Self::Malformed { problem: problem.into() }
    }

    pub(crate) fn unsupported(what: impl Into<String>) -> Self {
        Self::Unsupported { what: what.into() }
    }

    pub(crate) fn argument(argument: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Argument { argument: argument.into(), problem: problem.into() }
    }

    /// Returns the kind of reject, for an error that prevents a tool or document from loading.
    pub fn reject_kind(&self) -> RejectKind {
        match self {
            Self::ExternalReference { .. } | Self::UnreadableReference { .. } => RejectKind::ExternalRef,
            Self::TooLarge { .. } => RejectKind::TooLarge,
            Self::Version { .. } | Self::Unsupported { .. } => RejectKind::Unsupported,
            Self::DanglingReference { .. } | Self::ReferenceLoop { .. } => RejectKind::InvalidSchema,
            _ => RejectKind::InvalidTool,
        }
    }

    /// Returns the error as the failure of a call.
    pub(crate) fn tool_error(&self) -> ToolError {
        match self {
            Self::Caller(error) => ToolError::clone(error),
            Self::Argument { .. } => ToolError::new(ErrorKind::InvalidArgs, self.to_string())
                .with_hint("repair this argument and call again"),
            Self::Token { passes, .. } => ToolError::new(ErrorKind::Unavailable, self.to_string())
                .with_hint("the operator checks `auth` of this source; the call itself was not sent")
                .with_retryable(*passes),
            Self::NeedsLogin { .. } | Self::NoServer { .. } => {
                ToolError::new(ErrorKind::Unavailable, self.to_string()).with_retryable(false)
            }
            _ => ToolError::new(ErrorKind::Internal, self.to_string()),
        }
    }
}

impl Error {
    /// Wraps the error of a call whose caller has no credentials.
    pub(crate) fn caller(error: ToolError) -> Self {
        Self::Caller(Box::new(error))
    }
}

impl From<toolcrib_oauth::Error> for Error {
    fn from(error: toolcrib_oauth::Error) -> Self {
        let passes = error.may_pass();
        let (issuer, problem) = match error {
            toolcrib_oauth::Error::Failed { at, problem, .. } => (at, problem),
            toolcrib_oauth::Error::NeedsLogin { login, why } => return Self::NeedsLogin { login, why },
            other => ("its issuer".to_owned(), other.to_string()),
        };
        Self::Token { issuer, problem, passes }
    }
}
