//! The transfer of a file from a server.

use std::time::Duration;

use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, LAST_MODIFIED};
use http::{HeaderMap, StatusCode};
use tokio::time::Instant;
use toolcrib_io::http::{Incoming, Response, header_text};
use toolcrib_model::{ErrorKind, ToolError};
use toolcrib_port::Progress;
use toolcrib_sdk::CallContext;

use super::partial_file::{PartialFile, RemoteFile};
use crate::http::client::{Clients, RequestSpec};
use crate::http::errors::{failed, request_error, status_error};
use crate::http::final_response::FinalResponse;

/// The number of bytes that are buffered before they are written.
const WRITE_BYTES: usize = 512 * 1024;

/// The interval of progress reports while bytes arrive. The shortest deadline of a call is longer.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(250);

/// The maximum size of the body of an error that is read, in bytes.
const MAX_ERROR_BODY_BYTES: usize = 4 * 1024;

/// The maximum length of a validator, in bytes.
const MAX_VALIDATOR_BYTES: usize = 1000;

/// The response of a server to a request for a file.
pub(super) enum FileResponse {
    File(Box<Incoming>, RemoteFile),
    /// The server has no more bytes after the requested offset.
    RangeNotSatisfiable,
}

/// Requests a file, of which `offset` bytes have been received before.
pub(super) async fn request_file(
    clients: &Clients,
    context: &CallContext,
    spec: &RequestSpec,
    offset: u64,
) -> Result<FileResponse, ToolError> {
    let (mut incoming, url) = clients.open(context, spec).await?;
    let head = &incoming.headers;
    let length = header_text(head, CONTENT_LENGTH).and_then(|length| length.parse::<u64>().ok());
    let source = |offset, total| RemoteFile {
        offset,
        total,
        validator: validator(head),
        content_type: header_text(head, CONTENT_TYPE).map(|kind| kind.chars().take(100).collect()),
    };
    let is_encoded = header_text(head, CONTENT_ENCODING).is_some_and(|encoding| encoding != "identity");
    match incoming.status {
        StatusCode::RANGE_NOT_SATISFIABLE => return Ok(FileResponse::RangeNotSatisfiable),
        StatusCode::PARTIAL_CONTENT if offset > 0 && !is_encoded => {
            let range = header_text(head, CONTENT_RANGE).and_then(range);
            if let Some((start, total)) = range
                && start == offset
            {
                let source = source(offset, total);
                return Ok(FileResponse::File(Box::new(incoming), source));
            }
            return Ok(FileResponse::RangeNotSatisfiable);
        }
        StatusCode::OK => {
            let source = source(0, length);
            return Ok(FileResponse::File(Box::new(incoming), source));
        }
        _ => {}
    }
    let mut body = Vec::new();
    while let Ok(Some(chunk)) = incoming.chunk().await {
        body.extend_from_slice(&chunk);
        if body.len() >= MAX_ERROR_BODY_BYTES {
            break;
        }
    }
    body.truncate(MAX_ERROR_BODY_BYTES);
    let response = Response {
        status: incoming.status,
        headers: std::mem::take(&mut incoming.headers),
        body: body.into(),
        truncated: false,
        elapsed: std::time::Duration::ZERO,
    };
    let redirect_refusal = incoming
        .status
        .is_redirection()
        .then(|| "the redirect is not followed; if it is meant, call its target".to_owned());
    let received = FinalResponse { response, url, was_redirected: false, redirect_refusal };
    Err(status_error(&spec.method, &received))
}

/// Returns the identifier of this version: a strong entity tag, or else the date.
fn validator(headers: &HeaderMap) -> Option<String> {
    let tag = header_text(headers, ETAG).filter(|tag| !tag.starts_with("W/"));
    let validator = tag.or_else(|| header_text(headers, LAST_MODIFIED))?;
    (validator.len() <= MAX_VALIDATOR_BYTES).then(|| validator.to_owned())
}

/// Parses a `Content-Range` into the start of the part and the size of the whole.
fn range(text: &str) -> Option<(u64, Option<u64>)> {
    let (range, total) = text.strip_prefix("bytes ")?.split_once('/')?;
    let (start, _) = range.split_once('-')?;
    Some((start.trim().parse().ok()?, total.trim().parse().ok()))
}

/// Counts the received bytes, reports progress, and enforces the maximum.
pub(super) struct Meter<'a> {
    done: u64,
    /// The last reported count, and its time.
    reported: Option<(u64, Instant)>,
    total: Option<u64>,
    max: u64,
    context: &'a CallContext,
}

impl<'a> Meter<'a> {
    pub(super) fn new(
        done: u64,
        total: Option<u64>,
        max: u64,
        context: &'a CallContext,
    ) -> Result<Self, ToolError> {
        let meter = Self { done, reported: None, total, max, context };
        match total {
            Some(total) if total > max => Err(meter.too_large()),
            _ => Ok(meter),
        }
    }

    pub(super) fn done(&self) -> u64 {
        self.done
    }

    fn add(&mut self, bytes: usize) -> Result<(), ToolError> {
        self.done = self.done.saturating_add(bytes as u64);
        if self.done > self.max { Err(self.too_large()) } else { Ok(()) }
    }

    /// Reports progress, unless it has done so just now and little has arrived since.
    fn report_if_due(&mut self) {
        let now = Instant::now();
        let is_news = self.reported.is_none_or(|(done, at)| {
            self.done - done >= WRITE_BYTES as u64 || (self.done > done && now - at >= PROGRESS_INTERVAL)
        });
        if is_news {
            self.reported = Some((self.done, now));
            self.report();
        }
    }

    /// Reports the final count.
    fn report_end(&mut self) {
        if self.reported.is_none_or(|(done, _)| done < self.done) {
            self.report();
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "progress need not be exact")]
    fn report(&self) {
        if let Some(listener) = &self.context.progress {
            let total = self.total.map(|total| total as f64);
            let message = Some(match self.total {
                Some(total) => format!("{} of {total} bytes", self.done),
                None => format!("{} bytes", self.done),
            });
            listener.progress(&Progress { done: self.done as f64, total, message });
        }
    }

    fn too_large(&self) -> ToolError {
        let message = format!("the file has more than {} bytes, the most that is downloaded", self.max);
        ToolError::new(ErrorKind::LimitReached, message)
            .with_hint("the operator can raise `max_download_bytes`")
            .with_setting("max_download_bytes")
    }
}

/// Receives a file to its end.
pub(super) async fn receive(
    incoming: &mut Incoming,
    partial: &PartialFile,
    meter: &mut Meter<'_>,
    context: &CallContext,
) -> Result<(), ToolError> {
    let mut waiting = Vec::new();
    loop {
        let chunk = incoming.chunk().await;
        if let Ok(Some(chunk)) = &chunk {
            meter.add(chunk.len())?;
            waiting.extend_from_slice(chunk);
        }
        let is_over = !matches!(chunk, Ok(Some(_)));
        if waiting.len() >= WRITE_BYTES || (is_over && !waiting.is_empty()) {
            partial.append(context, std::mem::take(&mut waiting)).await?;
        }
        match chunk {
            Ok(Some(_)) => meter.report_if_due(),
            Ok(None) => {
                meter.report_end();
                break;
            }
            Err(error) => {
                let mut error = request_error(&http::Method::GET, &error);
                error.hint = None;
                return Err(error);
            }
        }
    }
    match meter.total {
        Some(total) if total != meter.done => {
            let message = format!("received {} bytes of a file that has {total}", meter.done);
            Err(failed(message).with_retryable(true))
        }
        _ => Ok(()),
    }
}
