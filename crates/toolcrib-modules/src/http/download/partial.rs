//! The partial file of a download, and its version.

use http::header::{IF_RANGE, RANGE};
use http::{HeaderMap, HeaderValue};
use serde::{Deserialize, Serialize};
use toolcrib_io::Error as IoError;
use toolcrib_io::files::{Existing, Root};
use toolcrib_model::{ErrorKind, ToolError};
use toolcrib_sdk::CallContext;

use super::incoming::Source;
use super::unwritten;
use crate::filesystem::blocking::blocking;

/// The maximum size of the version file, in bytes.
const MAX_VERSION_BYTES: usize = 32 * 1024;

/// The version of a partial file.
#[derive(Deserialize, Serialize)]
struct Version {
    url: String,
    /// The identifier of this version at the server.
    validator: String,
}

/// A partial file.
#[derive(Clone)]
pub(super) struct Partial {
    root: Root,
    path: String,
    url: String,
    /// The size of the existing part, and the identifier of its version.
    found: Option<(u64, String)>,
    can_resume: bool,
}

impl Partial {
    /// Finds the partial file that an earlier call left for this URL.
    pub(super) fn find(root: &Root, path: &str, url: &str) -> Result<Self, ToolError> {
        let mut partial =
            Self { root: root.clone(), path: path.into(), url: url.into(), found: None, can_resume: false };
        let there = match root.metadata(partial.part()) {
            Ok(there) => there,
            Err(IoError::NotFound { .. }) => return Ok(partial),
            Err(error) => return Err(unwritten(error)),
        };
        // An unreadable version file is ignored, and the download starts over.
        if let Ok(beside) = root.read(partial.beside(), 0, MAX_VERSION_BYTES)
            && let Ok(version) = serde_json::from_slice::<Version>(&beside.bytes)
            && version.url == url
            && there.bytes > 0
        {
            partial.found = Some((there.bytes, version.validator));
        }
        Ok(partial)
    }

    /// Requests the missing bytes, if the version has not changed. Returns the size of the existing part.
    pub(super) fn ask_for_rest(&self, headers: &mut HeaderMap) -> u64 {
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
    pub(super) async fn begin(
        mut self,
        context: &CallContext,
        offset: u64,
        source: &Source,
    ) -> Result<Self, ToolError> {
        self.can_resume = source.validator.is_some();
        let version = source.validator.clone().map(|validator| Version { url: self.url.clone(), validator });
        let partial = self.clone();
        blocking(context, move |_| {
            if offset == 0 {
                partial.root.write(partial.part(), &[]).map_err(unwritten)?;
                match version {
                    Some(version) => {
                        let version = serde_json::to_vec(&version).unwrap_or_default();
                        partial.root.write(partial.beside(), &version).map_err(unwritten)?;
                    }
                    None => partial.forget()?,
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
        blocking(context, move |_| partial.root.append(partial.part(), &bytes).map(drop).map_err(unwritten))
            .await
    }

    /// Keeps the partial file for a later call, if that can continue it. Returns true if it can.
    pub(super) async fn settle(&self, context: &CallContext, failed_of: ErrorKind) -> bool {
        if self.can_resume && failed_of != ErrorKind::LimitReached {
            return true;
        }
        let partial = self.clone();
        // The call fails already, with a more useful error.
        let _ = blocking(context, move |_| {
            let removed = partial.root.remove(partial.part()).map_err(unwritten);
            partial.forget().and(removed)
        })
        .await;
        false
    }

    /// Renames the complete file to its path.
    pub(super) async fn put_in_place(
        &self,
        context: &CallContext,
        existing: Existing,
    ) -> Result<(), ToolError> {
        let partial = self.clone();
        blocking(context, move |_| {
            partial.root.rename(partial.part(), &partial.path, existing).map_err(unwritten)?;
            partial.forget()
        })
        .await
    }

    /// Removes the version file.
    fn forget(&self) -> Result<(), ToolError> {
        match self.root.remove(self.beside()) {
            Ok(()) | Err(IoError::NotFound { .. }) => Ok(()),
            Err(error) => Err(unwritten(error)),
        }
    }

    fn part(&self) -> String {
        format!("{}.part", self.path)
    }

    fn beside(&self) -> String {
        format!("{}.part.json", self.path)
    }
}
