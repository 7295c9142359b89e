//! Results of any size, within bounds.

use serde_json::{Value, json};
use toolcrib_model::{ToolError, ToolResult};

/// The least bytes of a preview, so that an error about a tiny bound still says something.
const MIN_PREVIEW_BYTES: usize = 256;

/// The most bytes of an error's message, and of its hint.
const MAX_ERROR_BYTES: usize = 8 * 1024;

/// Cuts what an error says, whoever said it.
pub(crate) fn bound_error(error: &mut ToolError) {
    for text in [Some(&mut error.message), error.hint.as_mut()].into_iter().flatten() {
        if text.len() > MAX_ERROR_BYTES {
            *text = format!("{}… [cut: {} bytes]", prefix(text, MAX_ERROR_BYTES), text.len());
        }
    }
}

/// Replaces a result that is larger than the bound by its beginning, and says so in the result, where the model reads
/// it, and in the metadata.
pub(crate) fn bound(mut result: ToolResult, max_bytes: usize) -> ToolResult {
    let Some(bytes) = size_over(&result.result, max_bytes) else { return result };
    let room = max_bytes.max(MIN_PREVIEW_BYTES);
    result.result = match &result.result {
        Value::String(text) => {
            let shown = prefix(text, room);
            format!("{shown}\n[cut: {} of {} bytes shown; ask for less]", shown.len(), text.len()).into()
        }
        other => {
            let text = other.to_string();
            json!({"truncated": true, "bytes": bytes, "preview": prefix(&text, room), "hint": "ask for less"})
        }
    };
    result.with_metadata("truncated_bytes", bytes)
}

/// The size as JSON, when it is over the bound.
fn size_over(value: &Value, max_bytes: usize) -> Option<usize> {
    let bytes = match value {
        Value::String(text) => text.len(),
        other => {
            let mut counter = Counter(0);
            // Counting cannot fail.
            let _ = serde_json::to_writer(&mut counter, other);
            counter.0
        }
    };
    (bytes > max_bytes).then_some(bytes)
}

fn prefix(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or(text)
}

struct Counter(usize);

impl std::io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
