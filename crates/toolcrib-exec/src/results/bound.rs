//! Errors of any size, within bounds.

use toolcrib_model::ToolError;

use super::words::head;

/// The most bytes of an error's message, and of its hint.
const MAX_ERROR_BYTES: usize = 8 * 1024;

/// Cuts what an error says, whoever said it.
pub(crate) fn bound_error(error: &mut ToolError) {
    for text in [Some(&mut error.message), error.hint.as_mut()].into_iter().flatten() {
        if text.len() > MAX_ERROR_BYTES {
            *text = format!("{}… [cut: {} bytes]", head(text, MAX_ERROR_BYTES), text.len());
        }
    }
}
