//! `http.download`: a file of a server into the workspace.
//!
//! What has come stands in `PATH.part` until all of it is there, and then takes its place at once. Where the server says
//! which version it is (`ETag`, `Last-Modified`), that is kept beside it in `PATH.part.json`, and a later call asks for the
//! rest of that version only (`Range`, `If-Range`). Those two paths must be allowed under `access.filesystem` too.
//!
//! Each piece that comes gives the call its deadline anew, up to [`MAX_DOWNLOAD_SECONDS`]: a slow server is waited for, and
//! one that has stopped is not.

mod incoming;
mod partial;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use http::header::{ACCEPT_ENCODING, IF_RANGE, RANGE};
use http::{HeaderValue, Method};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_io::Error as IoError;
use toolcrib_io::files::{Existing, Root};
use toolcrib_model::{ErrorKind, ToolError};
use toolcrib_sdk::CallContext;

use super::client::{Clients, Wanted, url};
use super::failure::{failed, invalid};
use super::headers;
use crate::filesystem::blocking::blocking;

use incoming::{Answered, Meter, answered, receive};
use partial::Partial;

/// How many files are downloaded side by side.
pub const MAX_DOWNLOADS: usize = 8;

/// How long one call downloads at most, in seconds, however much comes. What has come by then is there for the next one. It
/// is less than the longest that any call may take, so that the error says how to go on.
pub const MAX_DOWNLOAD_SECONDS: u64 = 590;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Download {
    /// The URL of the file, with `http://` or `https://`.
    url: String,
    /// Where the file is to be, relative to the workspace.
    path: String,
    /// Whether to replace a file that is there.
    #[serde(default)]
    overwrite: bool,
    /// Whether to create the directories above it that are missing.
    #[serde(default)]
    create_parents: bool,
    /// Headers to send. Credentials of the operator are added by themselves.
    #[serde(default)]
    headers: BTreeMap<String, String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Downloaded {
    /// Where the file is, relative to the workspace.
    path: String,
    /// How many bytes it has.
    bytes: u64,
    /// What the server says that it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    content_type: Option<String>,
    /// How many of its bytes were there from an earlier call.
    #[serde(skip_serializing_if = "Option::is_none")]
    resumed_from: Option<u64>,
}

/// The files that are being downloaded, and where they go.
pub(super) struct Downloads {
    root: Root,
    max_bytes: u64,
    busy: Mutex<BTreeSet<PathBuf>>,
}

/// The right to write one file, until it is dropped.
struct Turn<'a> {
    downloads: &'a Downloads,
    path: PathBuf,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.downloads.busy.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.path);
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
    ) -> Result<Downloaded, ToolError> {
        let limit = Duration::from_secs(MAX_DOWNLOAD_SECONDS);
        let path = arguments.path.clone();
        let done = tokio::time::timeout(limit, self.fetch(clients, context, arguments)).await;
        done.unwrap_or_else(|_| {
            let message = format!("`{path}` was not all there after {MAX_DOWNLOAD_SECONDS} s");
            let hint = "call it again to go on, where the server lets it";
            Err(ToolError::new(ErrorKind::Timeout, message).with_hint(hint))
        })
    }

    async fn fetch(
        &self,
        clients: &Clients,
        context: &CallContext,
        arguments: Download,
    ) -> Result<Downloaded, ToolError> {
        let Download { url: written, path, overwrite, create_parents, headers } = arguments;
        let mut headers = headers::of_call(&headers)?;
        // Compressed on the way, a file would have another length.
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        headers.remove(RANGE);
        headers.remove(IF_RANGE);
        let mut wanted = Wanted { method: Method::GET, url: url(&written)?, headers, body: None };
        let turn = self.turn(&path)?;
        let (root, target, from) = (self.root.clone(), path.clone(), wanted.url.to_string());
        let partial = blocking(context, move |_| {
            ready(&root, &target, overwrite, create_parents)?;
            Partial::find(&root, &target, &from)
        })
        .await?;
        let begun = partial.ask_for_rest(&mut wanted.headers);
        let mut answer = answered(clients, &wanted, begun).await?;
        if begun > 0 && matches!(answer, Answered::NoSuchRange) {
            // What is there is not of the file that the server has now.
            wanted.headers.remove(RANGE);
            wanted.headers.remove(IF_RANGE);
            answer = answered(clients, &wanted, 0).await?;
        }
        let (mut incoming, source) = match answer {
            Answered::File(incoming, source) => (incoming, source),
            Answered::NoSuchRange => return Err(failed("the server has no such part of the file")),
        };
        let resumed_from = source.offset;
        let mut meter = Meter::new(resumed_from, source.total, self.max_bytes, context)?;
        let partial = partial.begin(context, resumed_from, &source).await?;
        if let Err(error) = receive(&mut incoming, &partial, &mut meter, context).await {
            let is_kept = partial.settle(context, error.kind).await;
            let hint = if is_kept { "call it again to go on" } else { "call it again to begin anew" };
            return Err(if error.hint.is_none() { error.with_hint(hint) } else { error });
        }
        let existing = if overwrite { Existing::Replace } else { Existing::Keep };
        partial.put_in_place(context, existing).await?;
        drop(turn);
        Ok(Downloaded {
            path,
            bytes: meter.done(),
            content_type: source.content_type,
            resumed_from: (resumed_from > 0).then_some(resumed_from),
        })
    }

    /// Makes sure that nobody else writes the same file, and that they are not too many.
    fn turn(&self, path: &str) -> Result<Turn<'_>, ToolError> {
        let path = Path::new(path);
        let below = path.strip_prefix(self.root.path()).unwrap_or(path);
        let path: PathBuf = below.components().filter(|part| *part != Component::CurDir).collect();
        let mut busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        if busy.contains(&path) {
            let message = format!("`{}` is being downloaded already", path.display());
            return Err(failed(message).with_hint("wait for that call, or use another path"));
        }
        if busy.len() >= MAX_DOWNLOADS {
            let message = format!("{MAX_DOWNLOADS} files are being downloaded already");
            return Err(ToolError::new(ErrorKind::Overloaded, message).with_hint("wait for one of them"));
        }
        busy.insert(path.clone());
        Ok(Turn { downloads: self, path })
    }
}

/// Refuses a path that cannot be written in the end, before anything is fetched.
fn ready(root: &Root, path: &str, overwrite: bool, create_parents: bool) -> Result<(), ToolError> {
    if path.is_empty() || path.ends_with('/') {
        return Err(
            invalid(format!("`path` is `{path}`, and no file")).with_hint("give it the name of a file")
        );
    }
    let directory = Path::new(path).parent().filter(|directory| !directory.as_os_str().is_empty());
    root.check_write(path).map_err(unwritten)?;
    match root.metadata(path) {
        Ok(found) if found.kind != toolcrib_io::files::Kind::File => {
            return Err(failed(format!("`{path}` is there, and no file")).with_hint("use another path"));
        }
        Ok(_) if !overwrite => {
            let message = format!("`{path}` is there already");
            return Err(
                failed(message).with_hint("set `overwrite` to true to replace it, or use another path")
            );
        }
        Ok(_) | Err(IoError::NotFound { .. }) => {}
        Err(error) => return Err(unwritten(error)),
    }
    let Some(directory) = directory else { return Ok(()) };
    if create_parents {
        return root.create_dir_all(directory).map_err(unwritten);
    }
    if root.exists(directory).map_err(unwritten)? {
        return Ok(());
    }
    let message = format!("cannot write `{path}`: the directory `{}` does not exist", directory.display());
    Err(failed(message).with_hint("set `create_parents` to true to create it"))
}

/// Why a file cannot be written.
pub(super) fn unwritten(error: IoError) -> ToolError {
    match error {
        IoError::OutsideRoot { path, reason } => {
            failed(format!("`{path}` is outside of the workspace: {reason}"))
                .with_hint("give a path relative to the workspace")
        }
        IoError::PathNotAllowed { .. } => ToolError::new(ErrorKind::Denied, error.to_string())
            .with_hint("use a path that is allowed; a download also writes `PATH.part` and `PATH.part.json`"),
        IoError::FileProtected { .. } => {
            ToolError::new(ErrorKind::Denied, error.to_string()).with_hint(crate::PROTECTED_HINT)
        }
        error => failed(error.to_string()),
    }
}
