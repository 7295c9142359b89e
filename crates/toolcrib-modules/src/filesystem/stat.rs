//! The tool `filesystem.stat`.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_io::files::{self, Root};
use toolcrib_model::ToolError;

use super::errors::tool_error;
use super::ls::Kind;
use super::walk::relative;
use crate::blocking::Cancellation;

/// The end of the year 9999, the last date that HTTP dates can express.
const LAST_DATE: Duration = Duration::from_secs(253_402_300_799);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Stat {
    /// The file, directory or symlink, relative to the workspace.
    pub(super) path: String,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct FileStatus {
    /// The path, relative to the workspace; empty for the workspace itself.
    path: String,
    kind: Kind,
    /// The size of a file, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    /// The time of the last change, in GMT.
    #[serde(skip_serializing_if = "Option::is_none")]
    modified: Option<String>,
    /// The permissions, as in `644`.
    #[serde(skip_serializing_if = "Option::is_none")]
    permissions: Option<String>,
    /// The target of a symlink, as it is stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    /// The kind of the target of a symlink; absent if it does not exist, or is outside of the workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    target_kind: Option<Kind>,
}

pub(super) fn stat(root: &Root, stat: &Stat, _stop: &Cancellation) -> Result<FileStatus, ToolError> {
    let path = &stat.path;
    let tool_error = |error| tool_error(root, error);
    let metadata = root.symlink_metadata(path).map_err(tool_error)?;
    let (mut target, mut target_kind) = (None, None);
    if metadata.kind == files::Kind::Symlink {
        target = Some(root.read_link(path).map_err(tool_error)?.display().to_string());
        target_kind = root.metadata(path).ok().map(|metadata| metadata.kind.into());
    }
    Ok(FileStatus {
        path: relative(root, path),
        kind: metadata.kind.into(),
        bytes: (metadata.kind == files::Kind::File).then_some(metadata.bytes),
        modified: metadata.modified.and_then(date),
        permissions: metadata.permissions.map(|bits| format!("{bits:03o}")),
        target,
        target_kind,
    })
}

/// Formats a date; returns `None` outside of the valid range. Any user can set the date of a file to any value.
fn date(time: SystemTime) -> Option<String> {
    let since = time.duration_since(UNIX_EPOCH).ok()?;
    (since <= LAST_DATE).then(|| httpdate::fmt_http_date(time))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_that_cannot_be_told_is_left_out() {
        assert_eq!(date(UNIX_EPOCH).unwrap(), "Thu, 01 Jan 1970 00:00:00 GMT");
        assert_eq!(date(UNIX_EPOCH + LAST_DATE).unwrap(), "Fri, 31 Dec 9999 23:59:59 GMT");
        assert_eq!(date(UNIX_EPOCH + LAST_DATE + Duration::from_secs(1)), None);
        assert_eq!(date(UNIX_EPOCH - Duration::from_secs(1)), None);
    }
}
