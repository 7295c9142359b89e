//! What can go wrong between a document and an answer.

use toolcrib_model::{ErrorKind, ToolError};
use toolcrib_port::RejectKind;

/// What can go wrong: with the source as it is set up, with the document, or with the arguments of a call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A setting of the source cannot be used.
    #[error("`{setting}` of the OpenAPI source {source_name}: {problem}")]
    Setting {
        /// The setting, as it is called in an app file.
        setting: &'static str,
        /// The source.
        source_name: String,
        /// What is wrong with it and what to write.
        problem: String,
    },
    /// The HTTP client could not be made.
    #[error("cannot make the HTTP client: {reason}")]
    Client {
        /// What is wrong.
        reason: String,
    },
    /// The text is not an OpenAPI document.
    #[error("there is no `openapi` version at the top; is this an OpenAPI document?")]
    NotOpenApi,
    /// A version that this loader does not read.
    #[error("{format} {version} is not read; convert the document to OpenAPI 3.0, 3.1 or 3.2")]
    Version {
        /// `OpenAPI` or `Swagger`.
        format: &'static str,
        /// As the document says it.
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
        /// What is wrong with the file.
        reason: String,
    },
    /// A reference points to nothing.
    #[error("the reference `{reference}` points to nothing in the document")]
    DanglingReference {
        /// The reference.
        reference: String,
    },
    /// References lead from one to the next without end.
    #[error("the reference `{reference}` leads back to itself, or through too many others")]
    ReferenceLoop {
        /// One of them.
        reference: String,
    },
    /// A bound was passed.
    #[error("{what} has more than {max} values")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// The bound.
        max: usize,
    },
    /// A part of the document is not what OpenAPI says.
    #[error("{problem}")]
    Malformed {
        /// What is wrong, and where.
        problem: String,
    },
    /// A part of the document that this loader does not read.
    #[error("{what} is not supported yet")]
    Unsupported {
        /// The part.
        what: String,
    },
    /// An argument that cannot be sent.
    #[error("the argument `{argument}` {problem}")]
    Argument {
        /// The argument.
        argument: String,
        /// What is wrong with it.
        problem: String,
    },
    /// There is no token to make a call with.
    #[error("no token from {issuer}: {problem}")]
    Token {
        /// The URL that issues tokens, without its query.
        issuer: String,
        /// What went wrong.
        problem: String,
        /// Whether it may go better later.
        passes: bool,
    },
    /// There is no server to send a call to.
    #[error("{problem}; set `base_url` for this source")]
    NoServer {
        /// Why.
        problem: String,
    },
}

/// How much of a reference is told, in characters.
const MAX_TOLD_CHARS: usize = 200;

/// The beginning of a text that the document wrote.
pub(crate) fn beginning(text: &str) -> String {
    match text.char_indices().nth(MAX_TOLD_CHARS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
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

    /// The kind of reject that this is, when it keeps a tool or a document from loading.
    pub fn reject_kind(&self) -> RejectKind {
        match self {
            Self::ExternalReference { .. } | Self::UnreadableReference { .. } => RejectKind::ExternalRef,
            Self::TooLarge { .. } => RejectKind::TooLarge,
            Self::Version { .. } | Self::Unsupported { .. } => RejectKind::Unsupported,
            Self::DanglingReference { .. } | Self::ReferenceLoop { .. } => RejectKind::InvalidSchema,
            _ => RejectKind::InvalidTool,
        }
    }

    /// The failure of a call that this is.
    pub(crate) fn tool_error(&self) -> ToolError {
        match self {
            Self::Argument { .. } => ToolError::new(ErrorKind::InvalidArgs, self.to_string())
                .with_hint("repair this argument and call again"),
            Self::Token { passes, .. } => ToolError::new(ErrorKind::Unavailable, self.to_string())
                .with_hint("the operator checks `auth` of this source; the call itself was not sent")
                .with_retryable(*passes),
            Self::NoServer { .. } => {
                ToolError::new(ErrorKind::Unavailable, self.to_string()).with_retryable(false)
            }
            _ => ToolError::new(ErrorKind::Internal, self.to_string()),
        }
    }
}
