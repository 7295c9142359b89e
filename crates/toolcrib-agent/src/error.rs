//! The errors of models and runs.

use std::borrow::Cow;
use std::io;
use std::time::Duration;

/// An error of a model or of a run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No provider has this name.
    #[error("unknown provider `{name}`; {}", match nearest {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => format!("known are: {}", known.join(", ")),
    })]
    UnknownProvider {
        /// The name as it was given.
        name: String,
        /// The known name that is nearest, if any is near.
        nearest: Option<&'static str>,
        /// All known names.
        known: Vec<&'static str>,
    },
    /// The provider's own server wants a key.
    #[error(
        "no API key for `{provider}`; set the environment variable {variable}, or `base_url` for another server"
    )]
    MissingKey {
        /// The provider.
        provider: &'static str,
        /// The environment variable that is read.
        variable: &'static str,
    },
    /// The key cannot be sent in a header.
    #[error(
        "the API key for `{provider}` has characters that no key has, such as a line break; copy it again"
    )]
    InvalidKey {
        /// The provider.
        provider: &'static str,
    },
    /// The command that prints the key failed.
    #[error("`api_key_command` `{program}` {reason}; run it in a terminal to see what it needs")]
    NoKey {
        /// The program of the command.
        program: String,
        /// The reason why there is no key.
        reason: String,
    },
    /// The provider has no server, as `recorded`.
    #[error("`{provider}` has no public server; {advice}")]
    NoServer {
        /// The provider.
        provider: &'static str,
        /// The setting to use instead.
        advice: &'static str,
    },
    /// An option of the request is out of range.
    #[error("the request has an invalid `{key}`: {message}")]
    InvalidOption {
        /// The option.
        key: &'static str,
        /// The reason why it is invalid.
        message: String,
    },
    /// The schema of answers cannot be used.
    #[error("the output schema cannot be used: {message}")]
    InvalidOutputSchema {
        /// The reason.
        message: String,
    },
    /// The address of the server is not one.
    #[error("`base_url` is `{url}`: {reason}; write it as `https://host/v1`")]
    InvalidBaseUrl {
        /// The address as it was given.
        url: String,
        /// The reason why it is invalid.
        reason: String,
    },
    /// The HTTP client does not go to the server's address.
    #[error("the model at {url} may not be asked: {source}")]
    Forbidden {
        /// The address of the request.
        url: String,
        /// The cause.
        source: toolcrib_io::Error,
    },

    /// There was no connection to the server.
    #[error(
        "cannot reach the model at {url}: {reason}; check that the server runs and that `base_url` is right"
    )]
    Unreachable {
        /// The address of the request.
        url: String,
        /// The chain of causes.
        reason: String,
    },
    /// The server fell silent.
    #[error(
        "the model at {url} sent nothing for {waited:?}; try again, or raise `timeout_seconds` of its `brain`"
    )]
    TimedOut {
        /// The address of the request.
        url: String,
        /// The time that the request waited.
        waited: Duration,
    },
    /// The server refused the request, or failed at it.
    #[error("the model at {url} answered {status}: {message}{}", hint.as_ref().map_or(String::new(), |hint| format!("; {hint}")))]
    Refused {
        /// The address of the request.
        url: String,
        /// The HTTP status; 200 for an error that came in the middle of an answer.
        status: u16,
        /// The message of the server.
        message: String,
        /// The remedy.
        hint: Option<String>,
        /// The pause that the server asks for.
        retry_after: Option<Duration>,
    },
    /// The account has no quota or credit left, so that the same request fails until its owner pays.
    #[error(
        "the account of the model at {url} has no quota left: {message}; check its plan and its billing, or name another \
         model under `fallback` of its `brain`"
    )]
    QuotaExhausted {
        /// The address of the request.
        url: String,
        /// The message of the server.
        message: String,
    },
    /// The request is longer than what the model takes in.
    #[error("the conversation is too long for the model at {url}: {message}")]
    ContextOverflow {
        /// The address of the request.
        url: String,
        /// The message of the server.
        message: String,
    },
    /// The answer broke off.
    #[error("the answer of the model at {url} broke off: {reason}; try again")]
    Interrupted {
        /// The address of the request.
        url: String,
        /// The way in which it broke off.
        reason: String,
    },
    /// The answer is not in the form of the API.
    #[error("the model at {url} sent no valid reply: {reason}; check `base_url`")]
    NotAReply {
        /// The address of the request.
        url: String,
        /// The problem that was found.
        reason: String,
    },
    /// The answer is longer than is read of one.
    #[error(
        "the answer of the model at {url} has more than {limit} {unit}, the most that is read of one; ask for less at once, or try another model"
    )]
    TooLarge {
        /// The address of the request.
        url: String,
        /// The limit.
        limit: usize,
        /// Of what.
        unit: &'static str,
    },

    /// The file with recorded turns cannot be read.
    #[error("{}", source.at(file))]
    Recording {
        /// The name of the file.
        file: String,
        /// The error, with its position.
        source: toolcrib_document::Error,
    },
    /// The model was asked once more than the recording has turns.
    #[error("{file}: the recording has {turns} turns and the model was asked for one more; record it again")]
    RecordingEnded {
        /// The name of the file.
        file: String,
        /// The number of turns.
        turns: usize,
    },
    /// The conversation is not the one that was recorded.
    #[error(
        "{file}: turn {turn} of the recording expects {missing:?} in what came since the last turn, which was: {found}; \
         the tools answer otherwise than when it was recorded"
    )]
    Unexpected {
        /// The name of the file.
        file: String,
        /// The number of the turn, from 1.
        turn: usize,
        /// The text that is not there.
        missing: String,
        /// The beginning of what is.
        found: String,
    },
    /// The model is asked something else than when it was recorded.
    #[error(
        "{file}: turn {turn} is asked something else than when it was recorded, first at {place}: recorded is \
         {recorded:?}, and now it is {found:?}; mend what changed, or record it again"
    )]
    RequestDiffers {
        /// The name of the file.
        file: String,
        /// The number of the turn, from 1.
        turn: usize,
        /// The part that differs, with its first line.
        place: String,
        /// The recorded text.
        recorded: String,
        /// The actual text.
        found: String,
    },
    /// The recording cannot be written.
    #[error("cannot write the recording: {source}")]
    RecordFailed {
        /// The error of the system.
        source: io::Error,
    },

    /// The session cannot be kept.
    #[error("cannot keep the session: {source}; nothing more was begun")]
    SessionFailed {
        /// The error of the system.
        source: io::Error,
    },

    /// The model said nothing, and nothing again when it was told so.
    #[error("the model answered with neither text nor a call, twice{}; try another model or a shorter prompt",
        finish_reason.as_ref().map_or(String::new(), |reason| format!(" (finish reason `{reason}`)")))]
    EmptyReply {
        /// The finish reason of the server.
        finish_reason: Option<String>,
    },
    /// There is no model to ask.
    #[error("there is no model to ask; give the agent a `brain`")]
    NoModel,
    /// The caller gave the run up.
    #[error("the run was cancelled")]
    Cancelled,
}

impl Error {
    /// Returns the kind of the failure as one word, for traces.
    pub(crate) fn kind(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::Refused { status, .. } => return status.to_string().into(),
            Self::QuotaExhausted { .. } => "quota_exhausted",
            Self::Unreachable { .. } => "unreachable",
            Self::TimedOut { .. } => "timeout",
            Self::Interrupted { .. } => "interrupted",
            Self::NotAReply { .. } => "not_a_reply",
            Self::TooLarge { .. } => "too_large",
            Self::Recording { .. }
            | Self::RecordingEnded { .. }
            | Self::Unexpected { .. }
            | Self::RequestDiffers { .. } => "recording",
            Self::ContextOverflow { .. } => "context_overflow",
            Self::SessionFailed { .. } => "session",
            Self::EmptyReply { .. } => "empty_reply",
            Self::Cancelled => "cancelled",
            _ => "_OTHER",
        })
    }

    /// Returns true if the server or the account failed rather than the request, so that another model may answer.
    pub fn concerns_the_server(&self) -> bool {
        match self {
            Self::Refused { status, .. } => !matches!(*status, 400 | 413 | 422),
            Self::QuotaExhausted { .. } | Self::NotAReply { .. } | Self::TooLarge { .. } => true,
            other => other.is_unavailable(),
        }
    }

    /// Returns true if the request exceeded the context window of the model.
    pub fn is_context_overflow(&self) -> bool {
        matches!(self, Self::ContextOverflow { .. })
    }

    /// Returns true if the model's server failed, and the same request may succeed later or elsewhere.
    pub fn is_unavailable(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::TimedOut { .. } | Self::Interrupted { .. } => true,
            Self::Refused { status, .. } => *status == 429 || *status >= 500,
            _ => false,
        }
    }
}
