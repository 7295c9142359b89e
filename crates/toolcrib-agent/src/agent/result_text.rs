//! A result as the model reads it.

use serde_json::{Value, json};
use toolcrib_model::{ToolError, ToolResult};

/// A result as the model reads it: a text as it is, anything else as compact JSON, an error as
/// `{"error": {"kind", "message", "hint", "retryable"}}`; of all, the first `max_bytes`. Before it stands what the user
/// made of the arguments, when that is not what the model asked for.
pub(super) fn result_text(result: &ToolResult, max_bytes: usize) -> String {
    let text = match (&result.error, &result.result) {
        (Some(error), _) => error_text(error),
        (None, Value::String(text)) => text.clone(),
        (None, value) => value.to_string(),
    };
    let text = match result.metadata.get("edited_arguments") {
        Some(arguments) => format!("[The user changed the arguments before it ran, to {arguments}]\n{text}"),
        None => text,
    };
    cut(clamps(result) + &text, max_bytes)
}

/// The numbers of the arguments that were brought within their bounds, a line each.
fn clamps(result: &ToolResult) -> String {
    let repairs = result.metadata.get("repairs").and_then(Value::as_array).into_iter().flatten();
    let clamped = repairs.filter(|repair| repair.get("change").is_some_and(|change| change == "clamped"));
    let line = |repair: &Value| {
        let name = repair.get("path")?.as_str()?.trim_start_matches('/');
        Some(format!(
            "[`{name}` is {} here: {} is beyond its bound]\n",
            repair.get("to")?,
            repair.get("from")?
        ))
    };
    clamped.filter_map(line).collect()
}

pub(super) fn error_text(error: &ToolError) -> String {
    json!({ "error": error }).to_string()
}

fn cut(text: String, max_bytes: usize) -> String {
    let total = text.len();
    if total <= max_bytes {
        return text;
    }
    let end = text.floor_char_boundary(max_bytes);
    let kept = text.get(..end).unwrap_or_default();
    format!("{kept}\n\n[Cut: the first {end} of {total} bytes. Ask for less, or for a part.]")
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolcrib_model::ToolResult;

    use super::result_text;

    #[test]
    fn a_model_is_told_which_numbers_were_brought_within_their_bounds() {
        let repairs = json!([
            {"path": "/max_results", "change": "clamped", "from": 21, "to": 20},
            {"path": "/query", "change": "number_to_string", "from": 5, "to": "5"},
        ]);
        let result = ToolResult::ok(None, "a::b", json!("found")).with_metadata("repairs", repairs);
        assert_eq!(result_text(&result, 1000), "[`max_results` is 20 here: 21 is beyond its bound]\nfound");
    }

    #[test]
    fn a_model_is_told_what_its_user_made_of_the_arguments() {
        let result = ToolResult::ok(None, "notes::write", json!("written"));
        assert_eq!(result_text(&result, 1000), "written");
        let edited = result.with_metadata("edited_arguments", json!({"text": "b"}));
        let told = "[The user changed the arguments before it ran, to {\"text\":\"b\"}]\nwritten";
        assert_eq!(result_text(&edited, 1000), told);
    }
}
