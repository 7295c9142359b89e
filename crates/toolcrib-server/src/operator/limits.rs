//! Limits on what operators see and send.

use toolcrib_model::text::ellipsize_bytes;

/// The maximum number of processes that serve one app and are shown together.
pub(crate) const MAX_SERVING: usize = 64;

/// The maximum number of operators that are connected to one process.
pub(crate) const MAX_OPERATORS: usize = 16;

/// The maximum size of the arguments of a call that are shown to an operator, in bytes of JSON. The operator can only
/// deny a call with longer arguments.
pub const MAX_SHOWN_ARGUMENT_BYTES: usize = 64 * 1024;

/// The maximum size of the form of a question that is shown to an operator, in bytes of JSON. The operator can only
/// decline a question with a longer form.
pub const MAX_SHOWN_QUESTION_BYTES: usize = 64 * 1024;

/// The maximum length of a text of a call, in bytes. Longer texts are truncated.
const MAX_TEXT_BYTES: usize = 4 * 1024;

/// Returns a text, truncated to the length of texts of a call.
pub(super) fn text(text: &str) -> String {
    text_to(text, MAX_TEXT_BYTES)
}

/// Returns the start of a text, truncated to at most this number of bytes.
pub(super) fn text_to(text: &str, max_bytes: usize) -> String {
    ellipsize_bytes(text, max_bytes).into_owned()
}
