//! A result as the model reads it.

use serde_json::{Value, json};
use toolcrib_model::text::truncate_bytes;
use toolcrib_model::{ToolError, ToolResult};

/// Returns a result as the model reads it: a text as it is, anything else as compact JSON, an error as
/// `{"error": {"kind", "message", "hint", "retryable"}}`; of all, the first `max_bytes`. Before it stands the line of
/// [`facts`](ToolResult::facts), where there are any.
pub(super) fn result_text(result: &ToolResult, max_bytes: usize) -> String {
    let text = match (&result.error, &result.result) {
        (Some(error), _) => error_text(error),
        (None, Value::String(text)) => text.clone(),
        // It is told as a fact.
        (None, Value::Null) => String::new(),
        (None, value) => value.to_string(),
    };
    let text = match result.facts() {
        Some(facts) if text.is_empty() => facts,
        Some(facts) => format!("{facts}\n{text}"),
        None => text,
    };
    cut(text, max_bytes)
}

pub(super) fn error_text(error: &ToolError) -> String {
    json!({ "error": error }).to_string()
}

fn cut(text: String, max_bytes: usize) -> String {
    let kept = truncate_bytes(&text, max_bytes);
    let (shown, total) = (kept.len(), text.len());
    if shown == total {
        return text;
    }
    format!("{kept}\n\n[Cut: the first {shown} of {total} bytes. Ask for less, or for a part.]")
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolcrib_model::ToolResult;

    use super::result_text;

    #[test]
    fn a_model_is_told_which_of_its_arguments_were_repaired() {
        let repairs = json!([
            {"path": "/max_results", "change": "clamped", "from": 21, "to": 20},
            {"path": "/query", "change": "number_to_string", "from": 5, "to": "5"},
        ]);
        let result = ToolResult::ok(None, "a::b", json!("found")).with_metadata("repairs", repairs);
        let told = "[repaired: max_results 21 → 20, its bound, query 5 → \"5\"]\nfound";
        assert_eq!(result_text(&result, 1000), told);
    }

    #[test]
    fn a_model_is_told_what_its_user_made_of_the_arguments() {
        let result = ToolResult::ok(None, "notes::write", json!("written"));
        assert_eq!(result_text(&result, 1000), "written");
        let edited = result.with_metadata("edited_arguments", json!({"text": "b"}));
        let told = "[The user changed the arguments before it ran, to {\"text\":\"b\"}]\nwritten";
        assert_eq!(result_text(&edited, 1000), told);
    }

    #[test]
    fn null_never_stands_for_done() {
        let nothing = ToolResult::ok(None, "a::b", json!(null));
        assert_eq!(result_text(&nothing, 1000), "[done; the tool returned no value]");
        assert_eq!(result_text(&nothing.with_metadata("status", 204), 1000), "[204 No Content]");
    }
}
