//! Limits on the size of errors.

use toolcrib_model::ToolError;
use toolcrib_model::text::truncate_bytes;

/// The maximum size of an error's message, and of its hint.
const MAX_ERROR_BYTES: usize = 8 * 1024;

/// Truncates the message and the hint of an error.
pub(crate) fn limit_error_size(error: &mut ToolError) {
    for text in [Some(&mut error.message), error.hint.as_mut()].into_iter().flatten() {
        if text.len() > MAX_ERROR_BYTES {
            *text = format!("{}… [cut: {} bytes]", truncate_bytes(text, MAX_ERROR_BYTES), text.len());
        }
    }
}
