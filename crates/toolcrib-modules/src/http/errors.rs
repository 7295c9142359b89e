//! The errors of requests, as models read them.

use http::{Method, StatusCode};
use toolcrib_io::Error;
use toolcrib_io::http::{header_text, may_pass, retry_after};
use toolcrib_model::{ErrorKind, ToolError};

use super::charset::decode_text;
use super::final_response::FinalResponse;

/// The maximum size of the body that an error repeats, in bytes.
const MAX_QUOTED_BYTES: usize = 2048;

/// Creates the error of a tool that failed.
pub(super) fn failed(message: impl Into<String>) -> ToolError {
    ToolError::new(ErrorKind::ToolFailed, message)
}

/// Creates the error of invalid arguments.
pub(super) fn invalid(message: impl Into<String>) -> ToolError {
    ToolError::new(ErrorKind::InvalidArgs, message)
}

/// Converts the error of a request without a response. If the request may have arrived and is not safe to repeat, the
/// outcome is unknown.
pub(super) fn request_error(method: &Method, error: &Error) -> ToolError {
    let (kind, hint) = match error {
        Error::ConnectFailed { .. } => (ErrorKind::Unavailable, "check the host and the port of `url`"),
        Error::RequestFailed { .. } | Error::RequestTimedOut { .. } if !method.is_idempotent() => {
            (ErrorKind::OutcomeUnknown, "find out whether the request took effect before you repeat it")
        }
        Error::RequestFailed { .. } => (ErrorKind::Unavailable, "the call can be repeated"),
        Error::RequestTimedOut { .. } => (
            ErrorKind::Timeout,
            "the call can be repeated; for a large file use `http.download`, and the operator can raise `timeout_seconds`",
        ),
        Error::AddressRefused { .. } => (
            ErrorKind::Denied,
            "use a public server; the operator names a private one under `private_origins`",
        ),
        Error::HostNotAllowed { .. } => {
            (ErrorKind::Denied, "use a host that is allowed, or ask the user for this one")
        }
        Error::InvalidUrl { .. } => (ErrorKind::InvalidArgs, "write it as `https://host/path`"),
        Error::RootCertificatesMissing { .. } => {
            let hint = "the operator has to install root certificates";
            return ToolError::new(ErrorKind::Unavailable, error.to_string())
                .with_hint(hint)
                .with_retryable(false);
        }
        _ => return ToolError::new(ErrorKind::Internal, error.to_string()),
    };
    let failed = ToolError::new(kind, error.to_string()).with_hint(hint);
    if matches!(error, Error::AddressRefused { .. }) {
        failed.with_setting("private_origins")
    } else {
        failed
    }
}

/// Creates the error of a status other than 2xx, for tools that promise the content: the status, and the beginning of
/// the body.
pub(super) fn status_error(method: &Method, received: &FinalResponse) -> ToolError {
    let response = &received.response;
    let status = response.status;
    let mut message = format!("{method} {} was answered with {status}", received.shown());
    let beginning = response.body.get(..MAX_QUOTED_BYTES).unwrap_or(&response.body);
    let is_cut = response.truncated || beginning.len() < response.body.len();
    let content_type = header_text(&response.headers, http::header::CONTENT_TYPE);
    if let Some(text) =
        decode_text(beginning, content_type, is_cut).filter(|text| !text.text.trim().is_empty())
    {
        message.extend([": ", text.text.trim(), if is_cut { "…" } else { "" }]);
    }
    let error = failed(message).with_retryable(may_pass(status));
    match hint(status, received) {
        _ if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => error
            .with_hint("the server wants other credentials; the operator sets them under `headers`")
            .with_setting("headers"),
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}

fn hint(status: StatusCode, received: &FinalResponse) -> Option<String> {
    Some(match status {
        StatusCode::NOT_FOUND | StatusCode::GONE => "check the path of `url`".into(),
        StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY => {
            "repair what is sent, and call again".into()
        }
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
            match retry_after(&received.response.headers) {
                Some(wait) => format!("try again after {} s", wait.as_secs()),
                None => "try again later".into(),
            }
        }
        status if status.is_redirection() => received.redirect_refusal.clone()?,
        _ => return None,
    })
}
