//! Texts about tools and errors.

use toolcrib_model::text::ellipsize_bytes;
use toolcrib_model::{QualifiedName, ToolError};

/// The maximum size of a result or an error in a notification, in bytes.
pub(crate) const MAX_NOTIFIED_BYTES: usize = 600;

/// Returns the display name of a tool, regardless of its spelling in a call.
pub(crate) fn shown_name(tool: &str) -> String {
    tool.parse::<QualifiedName>().map_or_else(|_| tool.to_owned(), |name| name.shown())
}

/// Returns the text of an error as one line, so that the text of a tool cannot imitate other parts of a notification.
pub(crate) fn error_text(error: &ToolError) -> String {
    ellipsize_bytes(&error.to_string(), MAX_NOTIFIED_BYTES).replace(char::is_control, " ")
}
