//! The partial file of a download, and its version.

use http::header::{IF_RANGE, RANGE};
use http::{HeaderMap, HeaderValue};
use serde::{Deserialize, Serialize};
use toolcrib_io::Error as IoError;
use toolcrib_io::files::{Existing, Root};
use toolcrib_model::{ErrorKind, ToolError};
use toolcrib_sdk::CallContext;

use super::write_error;
use crate::blocking::blocking;

/// The maximum size of the version file, in bytes.
const MAX_VERSION_BYTES: usize = 32 * 1024;

/// A server's description of a file that it sends.
pub(super) struct RemoteFile {
    /// The offset in the file at which the body begins.
    pub(super) offset: u64,
    /// The size of the whole file.
    pub(super) total: Option<u64>,
    /// The identifier of this version of the file, if the server sends one.
    pub(super) validator: Option<String>,
    pub(super) content_type: Option<String>,
}

/// The version of a partial file.
#[derive(Deserialize, Serialize)]
struct FileVersion {
    url: String,
    /// The identifier of this version at the server.
    validator: String,
}

/// A partial file.
#[derive(Clone)]
pub(super) struct PartialFile {
    root: Root,
    path: String,
    url: String,
    /// The size of the existing part, and the identifier of its version.
    found: Option<(u64, String)>,
    can_resume: bool,
}

impl PartialFile {
    /// Finds the partial file that an earlier call left for this URL.
    pub(super) fn find(root: &Root, path: &str, url: &str) -> Result<Self, ToolError> {
        let mut partial =
            Self { root: root.clone(), path: path.into(), url: url.into(), found: None, can_resume: false };
        let existing_part = match root.metadata(partial.part_path()) {
            Ok(existing_part) => existing_part,
            Err(IoError::NotFound { .. }) => return Ok(partial),
            Err(error) => return Err(write_error(error)),
        };
        // An unreadable version file is ignored, and the download starts over.
        if let Ok(version_file) = root.read(partial.version_path(), 0, MAX_VERSION_BYTES)
            && let Ok(version) = serde_json::from_slice::<FileVersion>(&version_file.bytes)
            && version.url == url
            && existing_part.bytes > 0
        {
            partial.found = Some((existing_part.bytes, version.validator));
        }
        Ok(partial)
    }

    /// Requests the missing bytes, if the version has not changed. Returns the size of the existing part.
    pub(super) fn request_rest(&self, headers: &mut HeaderMap) -> u64 {
        let Some((bytes, validator)) = &self.found else { return 0 };
        let Ok(validator) = HeaderValue::from_str(validator) else { return 0 };
        headers.insert(IF_RANGE, validator);
        // Digits are always a valid value.
        if let Ok(range) = HeaderValue::from_str(&format!("bytes={bytes}-")) {
            headers.insert(RANGE, range);
        }
        *bytes
    }

    /// Prepares to continue at `offset`, or to start over at 0.
    pub(super) async fn prepare(
        mut self,
        context: &CallContext,
        offset: u64,
        source: &RemoteFile,
    ) -> Result<Self, ToolError> {
        self.can_resume = source.validator.is_some();
        let version =
            source.validator.clone().map(|validator| FileVersion { url: self.url.clone(), validator });
        let partial = self.clone();
        blocking(context, move |_| {
            if offset == 0 {
                partial.root.write(partial.part_path(), &[]).map_err(write_error)?;
                match version {
                    Some(version) => {
                        let version = serde_json::to_vec(&version).unwrap_or_default();
                        partial.root.write(partial.version_path(), &version).map_err(write_error)?;
                    }
                    None => partial.remove_version()?,
                }
            }
            Ok(())
        })
        .await?;
        Ok(self)
    }

    /// Appends received bytes.
    pub(super) async fn append(&self, context: &CallContext, bytes: Vec<u8>) -> Result<(), ToolError> {
        let partial = self.clone();
        blocking(context, move |_| {
            partial.root.append(partial.part_path(), &bytes).map(drop).map_err(write_error)
        })
        .await
    }

    /// Keeps the partial file for a later call, if that can continue it. Returns true if it can.
    pub(super) async fn keep_or_remove(&self, context: &CallContext, failed_of: ErrorKind) -> bool {
        if self.can_resume && failed_of != ErrorKind::LimitReached {
            return true;
        }
        let partial = self.clone();
        // The call fails already, with a more useful error.
        let _ = blocking(context, move |_| {
            let removed = partial.root.remove(partial.part_path()).map_err(write_error);
            partial.remove_version().and(removed)
        })
        .await;
        false
    }

    /// Renames the complete file to its path.
    pub(super) async fn finish(&self, context: &CallContext, existing: Existing) -> Result<(), ToolError> {
        let partial = self.clone();
        blocking(context, move |_| {
            partial.root.rename(partial.part_path(), &partial.path, existing).map_err(write_error)?;
            partial.remove_version()
        })
        .await
    }

    /// Removes the version file.
    fn remove_version(&self) -> Result<(), ToolError> {
        match self.root.remove(self.version_path()) {
            Ok(()) | Err(IoError::NotFound { .. }) => Ok(()),
            Err(error) => Err(write_error(error)),
        }
    }

    fn part_path(&self) -> String {
        format!("{}.part", self.path)
    }

    fn version_path(&self) -> String {
        format!("{}.part.json", self.path)
    }
}
