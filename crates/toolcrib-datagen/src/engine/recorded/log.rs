//! The calls of an audit log.

use std::ffi::OsString;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use toolcrib_io::files::read_bounded;
use toolcrib_model::{ErrorKind, JsonObject, QualifiedName, ToolError};

use super::RecordedCall;

/// The most bytes of a log, without the file that it was renamed to.
pub const MAX_LOG_BYTES: u64 = 256 * 1024 * 1024;

/// The outcome of a call that has a result.
const OK: &str = "ok";

/// The fields of a record that make a result. A value that is absent is distinguished from `null`.
#[derive(Deserialize)]
struct Record {
    tool: Option<String>,
    outcome: String,
    arguments: Option<JsonObject>,
    /// The tool that ran, if `tool` is a shape of it, and its arguments.
    original: Option<String>,
    original_arguments: Option<JsonObject>,
    #[serde(default, deserialize_with = "present")]
    result: Option<Value>,
    error: Option<RecordedError>,
}

/// The error of a recorded call. Its kind is the outcome.
#[derive(Deserialize)]
struct RecordedError {
    message: String,
    hint: Option<String>,
}

fn present<'de, D: serde::Deserializer<'de>>(value: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(value).map(Some)
}

/// Reads the calls that have arguments and a result or an error, oldest first.
///
/// # Errors
///
/// The message names the file, and the line that is not a record.
pub(super) fn read(path: &Path) -> Result<Vec<RecordedCall>, String> {
    let mut older = OsString::from(path);
    older.push(".1");
    let mut calls = Vec::new();
    for path in [Path::new(&older), path] {
        if path == Path::new(&older) && !path.exists() {
            continue;
        }
        let name = path.display();
        let bytes = read_bounded(path, MAX_LOG_BYTES).map_err(|error| error.to_string())?;
        let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
        for (at, line) in lines.iter().enumerate().filter(|(_, line)| !line.is_empty()) {
            match serde_json::from_slice::<Record>(line) {
                Ok(record) => calls.extend(call(record)),
                // The last line of a log that is being written may be incomplete.
                Err(_) if at + 1 == lines.len() => {}
                Err(error) => return Err(format!("{name}: line {} is not an audit record: {error}", at + 1)),
            }
        }
    }
    if calls.is_empty() {
        return Err(format!(
            "{} has no call with its arguments and result; `audit` records them with `values: true` and `results: true`",
            path.display()
        ));
    }
    Ok(calls)
}

/// Returns the call that an engine ran: of a shaped tool, that of the original.
fn call(record: Record) -> Option<RecordedCall> {
    let (tool, arguments) = match record.original {
        Some(original) => (original, record.original_arguments?),
        None => (record.tool?, record.arguments?),
    };
    let (namespace, name) = tool.split_once("::")?;
    let tool = QualifiedName::new(namespace, name).ok()?;
    let outcome = match (record.outcome.as_str(), record.error) {
        (OK, _) => Ok(record.result?),
        (kind, Some(RecordedError { message, hint })) => {
            let kind: ErrorKind = serde_json::from_value(kind.into()).ok()?;
            // An error that the executor retries would take the result of the next equal call.
            let error = ToolError::new(kind, message).with_retryable(false);
            Err(ToolError { hint, ..error })
        }
        _ => return None,
    };
    Some(RecordedCall { tool, arguments, outcome })
}
