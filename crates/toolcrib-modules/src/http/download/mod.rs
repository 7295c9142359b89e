//! The tool `http.download`, which downloads a file into the workspace.
//!
//! Received bytes are written to `PATH.part`, which is renamed once the file is complete. If the server identifies the
//! version (`ETag`, `Last-Modified`), that is stored in `PATH.part.json`, and a later call requests only the rest of
//! that version (`Range`, `If-Range`). Both paths must be allowed under `access.filesystem` too.
//!
//! Each received piece renews the deadline of the call, up to [`MAX_DOWNLOAD_SECONDS`]. So the call waits for a slow
//! server, but not for one that has stopped.

mod partial_file;
mod transfer;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use http::header::{ACCEPT_ENCODING, IF_RANGE, RANGE};
use http::{HeaderValue, Method};
use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_io::Error as IoError;
use toolcrib_io::files::{Existing, PROTECTED_HINT, Root};
use toolcrib_model::{ErrorKind, ToolError};
use toolcrib_sdk::CallContext;

use super::client::{Clients, RequestSpec, url};
use super::errors::{failed, invalid};
use super::headers;
use crate::blocking::blocking;
use crate::root_access::restricted;

use partial_file::PartialFile;
use transfer::{FileResponse, Meter, receive, request_file};

/// The maximum number of concurrent downloads.
const MAX_DOWNLOADS: usize = 8;

/// The maximum duration of one call, in seconds. The bytes received by then are available to the next call. It is less
/// than the maximum duration of any call, so that the error can say how to continue.
pub const MAX_DOWNLOAD_SECONDS: u64 = 590;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Download {
    /// The URL of the file, with `http://` or `https://`.
    url: String,
    /// The path of the file, relative to the workspace.
    path: String,
    /// True to replace a file that exists.
    #[serde(default)]
    overwrite: bool,
    /// True to create missing parent directories.
    #[serde(default)]
    create_parents: bool,
    /// Headers to send. Credentials of the operator are added automatically.
    #[serde(default)]
    headers: BTreeMap<String, String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct DownloadOutput {
    /// The path of the file, relative to the workspace.
    path: String,
    /// Its size, in bytes.
    bytes: u64,
    /// Its content type, as the server declares it.
    #[serde(skip_serializing_if = "Option::is_none")]
    content_type: Option<String>,
    /// The number of bytes that an earlier call had downloaded.
    #[serde(skip_serializing_if = "Option::is_none")]
    resumed_from: Option<u64>,
}

/// The running downloads.
pub(super) struct Downloads {
    root: Root,
    max_bytes: u64,
    busy: Mutex<BTreeSet<PathBuf>>,
}

/// The exclusive right to write one file, until it is dropped.
struct DownloadLock<'a> {
    downloads: &'a Downloads,
    path: PathBuf,
}

impl Drop for DownloadLock<'_> {
    fn drop(&mut self) {
        self.downloads.busy.lock().remove(&self.path);
    }
}

impl Downloads {
    pub(super) fn new(root: Root, max_bytes: u64) -> Self {
        Self { root, max_bytes, busy: Mutex::default() }
    }

    pub(super) async fn download(
        &self,
        clients: &Clients,
        context: &CallContext,
        arguments: Download,
    ) -> Result<DownloadOutput, ToolError> {
        let limit = Duration::from_secs(MAX_DOWNLOAD_SECONDS);
        let path = arguments.path.clone();
        let done = tokio::time::timeout(limit, self.fetch(clients, context, arguments)).await;
        done.unwrap_or_else(|_| {
            let message = format!("`{path}` was not all there after {MAX_DOWNLOAD_SECONDS} s");
            let hint = "call it again to continue, if the server supports that";
            Err(ToolError::new(ErrorKind::Timeout, message).with_hint(hint))
        })
    }

    async fn fetch(
        &self,
        clients: &Clients,
        context: &CallContext,
        arguments: Download,
    ) -> Result<DownloadOutput, ToolError> {
        let Download { url: written, path, overwrite, create_parents, headers } = arguments;
        let mut headers = headers::from_call(&headers)?;
        // With compression, the file would have another length.
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        headers.remove(RANGE);
        headers.remove(IF_RANGE);
        let mut spec = RequestSpec { method: Method::GET, url: url(&written)?, headers, body: None };
        let lock = self.lock_path(&path)?;
        let root = restricted(&self.root, &context.access);
        let (target, from) = (path.clone(), spec.url.to_string());
        let partial = blocking(context, move |_| {
            check_target(&root, &target, overwrite, create_parents)?;
            PartialFile::find(&root, &target, &from)
        })
        .await?;
        let offset = partial.request_rest(&mut spec.headers);
        let mut answer = request_file(clients, context, &spec, offset).await?;
        if offset > 0 && matches!(answer, FileResponse::RangeNotSatisfiable) {
            // The partial file belongs to another version than the server has now.
            spec.headers.remove(RANGE);
            spec.headers.remove(IF_RANGE);
            answer = request_file(clients, context, &spec, 0).await?;
        }
        let (mut incoming, source) = match answer {
            FileResponse::File(incoming, source) => (incoming, source),
            FileResponse::RangeNotSatisfiable => {
                return Err(failed("the server has no such part of the file"));
            }
        };
        let resumed_from = source.offset;
        let mut meter = Meter::new(resumed_from, source.total, self.max_bytes, context)?;
        let partial = partial.prepare(context, resumed_from, &source).await?;
        if let Err(error) = receive(&mut incoming, &partial, &mut meter, context).await {
            let is_kept = partial.keep_or_remove(context, error.kind).await;
            let hint = if is_kept { "call it again to continue" } else { "call it again to start over" };
            return Err(if error.hint.is_none() { error.with_hint(hint) } else { error });
        }
        let existing = if overwrite { Existing::Replace } else { Existing::Keep };
        partial.finish(context, existing).await?;
        drop(lock);
        Ok(DownloadOutput {
            path,
            bytes: meter.done(),
            content_type: source.content_type,
            resumed_from: (resumed_from > 0).then_some(resumed_from),
        })
    }

    /// Claims a path, so that no other call writes it. Limits the number of downloads.
    fn lock_path(&self, path: &str) -> Result<DownloadLock<'_>, ToolError> {
        let path = Path::new(path);
        let below = path.strip_prefix(self.root.path()).unwrap_or(path);
        let path: PathBuf = below.components().filter(|part| *part != Component::CurDir).collect();
        let mut busy = self.busy.lock();
        if busy.contains(&path) {
            let message = format!("`{}` is being downloaded already", path.display());
            return Err(failed(message).with_hint("wait for that call, or use another path"));
        }
        if busy.len() >= MAX_DOWNLOADS {
            let message = format!("{MAX_DOWNLOADS} files are being downloaded already");
            return Err(ToolError::new(ErrorKind::Overloaded, message).with_hint("wait for one of them"));
        }
        busy.insert(path.clone());
        Ok(DownloadLock { downloads: self, path })
    }
}

/// Refuses a path that cannot be written, before anything is requested.
fn check_target(root: &Root, path: &str, overwrite: bool, create_parents: bool) -> Result<(), ToolError> {
    if path.is_empty() || path.ends_with('/') {
        return Err(invalid(format!("`path` is `{path}`, expected the path of a file"))
            .with_hint("give it the name of a file"));
    }
    let directory = Path::new(path).parent().filter(|directory| !directory.as_os_str().is_empty());
    root.check_write(path).map_err(write_error)?;
    match root.metadata(path) {
        Ok(found) if found.kind != toolcrib_io::files::Kind::File => {
            return Err(failed(format!("`{path}` exists, and is not a file")).with_hint("use another path"));
        }
        Ok(_) if !overwrite => {
            let message = format!("`{path}` already exists");
            return Err(
                failed(message).with_hint("set `overwrite` to true to replace it, or use another path")
            );
        }
        Ok(_) | Err(IoError::NotFound { .. }) => {}
        Err(error) => return Err(write_error(error)),
    }
    let Some(directory) = directory else { return Ok(()) };
    if create_parents {
        return root.create_dir_all(directory).map_err(write_error);
    }
    if root.exists(directory).map_err(write_error)? {
        return Ok(());
    }
    let message = format!("cannot write `{path}`: the directory `{}` does not exist", directory.display());
    Err(failed(message).with_hint("set `create_parents` to true to create it"))
}

/// Converts the error of a file that cannot be written.
pub(super) fn write_error(error: IoError) -> ToolError {
    match error {
        IoError::OutsideRoot { path, reason } => {
            failed(format!("`{path}` is outside of the workspace: {reason}"))
                .with_hint("give a path relative to the workspace")
        }
        IoError::PathNotAllowed { .. } => ToolError::new(ErrorKind::Denied, error.to_string())
            .with_hint("use a path that is allowed; a download also writes `PATH.part` and `PATH.part.json`"),
        IoError::FileProtected { .. } => {
            ToolError::new(ErrorKind::Denied, error.to_string()).with_hint(PROTECTED_HINT)
        }
        error => failed(error.to_string()),
    }
}
