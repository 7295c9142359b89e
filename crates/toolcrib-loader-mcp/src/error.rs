//! The errors of connecting to a server.

use std::time::Duration;

use toolcrib_port::RejectKind;

use crate::text::{MAX_ERROR_CHARS, clean};

/// An error that leaves a source without a connection.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The command has no program.
    #[error("the `command` of MCP server `{namespace}` is empty; give a program and its arguments")]
    EmptyCommand {
        /// The namespace of the source.
        namespace: String,
    },
    /// A header cannot be sent.
    #[error("header `{name}` of MCP server `{namespace}` has characters that no HTTP header may have")]
    Header {
        /// The namespace of the source.
        namespace: String,
        /// The header's name; its value is a secret.
        name: String,
    },
    /// The process does not start.
    #[error("MCP server `{target}` does not start: {reason}")]
    Spawn {
        /// The command line.
        target: String,
        /// The error of the operating system.
        reason: String,
    },
    /// The URL may not be reached, or the HTTP client cannot be made.
    #[error("MCP server `{target}` may not be reached: {reason}")]
    Refused {
        /// The URL.
        target: String,
        /// The rule that forbids it.
        reason: String,
    },
    /// The process exited before it answered the handshake.
    #[error("MCP server `{target}` {status} before the handshake{stderr}")]
    Exited {
        /// The command line.
        target: String,
        /// The exit status, as `exited with status 1`.
        status: String,
        /// The last lines of standard error, introduced; may be empty.
        stderr: String,
    },
    /// The process exited soon after it started, before it answered a call.
    #[error("MCP server `{target}` {status} soon after it was started{stderr}")]
    ExitedEarly {
        /// The command line.
        target: String,
        /// The exit status, as `exited with status 1`.
        status: String,
        /// The last lines of standard error, introduced; may be empty.
        stderr: String,
    },
    /// The server did not answer in time.
    #[error("MCP server `{target}` did not answer the handshake within {} s; \
         `startup_timeout_seconds` gives it longer{stderr}", timeout.as_secs_f32())]
    HandshakeTimeout {
        /// The command line or URL.
        target: String,
        /// The time that the server had.
        timeout: Duration,
        /// The last lines of standard error, introduced; may be empty.
        stderr: String,
    },
    /// The handshake failed.
    #[error("the handshake with MCP server `{target}` failed: {reason}{stderr}")]
    Handshake {
        /// The command line or URL.
        target: String,
        /// The problem.
        reason: String,
        /// The last lines of standard error, introduced; may be empty.
        stderr: String,
    },
    /// The request has no token.
    #[error(transparent)]
    Authorization(#[from] toolcrib_oauth::Error),
    /// The attempt to connect panicked.
    #[error("connecting to MCP server `{target}` panicked; this is a fault in Toolcrib, not in the server")]
    Panicked {
        /// The command line or URL.
        target: String,
    },
    /// The last attempt failed a moment ago, and the backoff has not passed.
    #[error("{last}; it is tried again in {} s", wait.as_secs_f32().ceil())]
    Backoff {
        /// The error of the last attempt.
        last: Box<Error>,
        /// The time until the next attempt.
        wait: Duration,
    },
    /// An operator has disabled the source.
    #[error("MCP server `{target}` is disabled; `toolcrib enable` lets it start again")]
    Suspended {
        /// The command line or URL.
        target: String,
    },
    /// The connection was closed permanently.
    #[error("the connection to MCP server `{target}` is closed")]
    Closed {
        /// The command line or URL.
        target: String,
    },
}

impl Error {
    /// Returns true if a user has to log in first.
    pub fn needs_login(&self) -> bool {
        match self {
            Self::Authorization(toolcrib_oauth::Error::NeedsLogin { .. }) => true,
            Self::Backoff { last, .. } => last.needs_login(),
            _ => false,
        }
    }

    /// Returns the reject kind for a server that cannot be used because of this error.
    pub(crate) fn reject_kind(&self) -> RejectKind {
        if self.needs_login() { RejectKind::NeedsLogin } else { RejectKind::Unavailable }
    }
}

/// Returns the message of an error and of its sources, without repetitions: transports wrap the one informative message
/// in several others. The text is cleaned and shortened, since it may quote the server.
pub(crate) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let message = error.to_string();
        if !text.contains(&message) {
            text = format!("{text}: {message}");
        }
        source = error.source();
    }
    clean(&text, MAX_ERROR_CHARS)
}
