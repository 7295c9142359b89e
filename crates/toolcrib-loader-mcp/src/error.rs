//! The ways in which a server is not there.

use std::time::Duration;

use toolcrib_port::RejectKind;

use crate::text::{MAX_ERROR_CHARS, clean};

/// Why there is no connection to a server.
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
        /// What the system says.
        reason: String,
    },
    /// The URL may not be reached, or the HTTP client cannot be made.
    #[error("MCP server `{target}` may not be reached: {reason}")]
    Refused {
        /// The URL.
        target: String,
        /// Which rule says so.
        reason: String,
    },
    /// The process ended before it answered.
    #[error("MCP server `{target}` {status} before the handshake{said}")]
    Exited {
        /// The command line.
        target: String,
        /// How it ended, as `exited with status 1`.
        status: String,
        /// Its last lines on standard error, introduced; empty when it said nothing.
        said: String,
    },
    /// The process ended soon after it was started, before it had answered a call.
    #[error("MCP server `{target}` {status} soon after it was started{said}")]
    Ended {
        /// The command line.
        target: String,
        /// How it ended, as `exited with status 1`.
        status: String,
        /// Its last lines on standard error, introduced; empty when it said nothing.
        said: String,
    },
    /// The server did not answer in time.
    #[error("MCP server `{target}` did not answer the handshake within {} s; \
         `startup_timeout_seconds` gives it longer{said}", timeout.as_secs_f32())]
    Silent {
        /// The command line or URL.
        target: String,
        /// The time it had.
        timeout: Duration,
        /// The last lines on standard error, introduced; empty when it said nothing.
        said: String,
    },
    /// The server answered something else than a handshake.
    #[error("MCP server `{target}` did not shake hands: {reason}{said}")]
    Handshake {
        /// The command line or URL.
        target: String,
        /// What went wrong.
        reason: String,
        /// The last lines on standard error, introduced; empty when it said nothing.
        said: String,
    },
    /// The server wants a user who has logged in, and there is none.
    #[error("needs login: {login} ({why})")]
    NeedsLogin {
        /// The command that logs in.
        login: String,
        /// What it is needed for.
        why: String,
    },
    /// Authorization failed.
    #[error("authorization at `{at}` failed: {problem}")]
    Authorization {
        /// The server, authorization server or file.
        at: String,
        /// What went wrong, and what to do.
        problem: String,
        /// Whether it may go well later.
        passes: bool,
    },
    /// The attempt to connect panicked.
    #[error("connecting to MCP server `{target}` panicked; this is a fault in Toolcrib, not in the server")]
    Panicked {
        /// The command line or URL.
        target: String,
    },
    /// The last attempt failed a moment ago.
    #[error("{last}; it is tried again in {} s", wait.as_secs_f32().ceil())]
    Waiting {
        /// How the last attempt failed.
        last: Box<Error>,
        /// How long until the next one is due.
        wait: Duration,
    },
    /// The connection was closed for good.
    #[error("the connection to MCP server `{target}` is closed")]
    Closed {
        /// The command line or URL.
        target: String,
    },
}

impl Error {
    /// Whether the same may go well later, with nobody doing anything about it.
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::Authorization { passes: true, .. })
    }

    /// Whether somebody has to log in first.
    pub fn needs_login(&self) -> bool {
        match self {
            Self::NeedsLogin { .. } => true,
            Self::Waiting { last, .. } => last.needs_login(),
            _ => false,
        }
    }

    /// What sort of failure it is, of a server that cannot be used for it.
    pub(crate) fn reject_kind(&self) -> RejectKind {
        if self.needs_login() { RejectKind::NeedsLogin } else { RejectKind::Unavailable }
    }
}

/// The error and what it came of, each once: transports wrap the one line that says something in several that do not.
/// Cleaned and cut, since it may quote what a server sent.
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
