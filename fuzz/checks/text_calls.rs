//! Any text as a message of a model, as a whole and in pieces, and as what a tool returned.

use toolcrib_prompt::defuse;
use toolcrib_prompt::text_calls::{
    MAX_TEXT_CALLS, TextReader, ToolNames, parse_text_calls, render_tool_result,
};

/// The names of tools that the seeds call.
const KNOWN: [&str; 6] = ["read", "write", "ls", "search", "list_categories", "get_weather"];

/// Checks what holds for one input.
pub(crate) fn check(bytes: &[u8]) {
    let Some((step, bytes)) = bytes.split_first() else { return };
    let text = String::from_utf8_lossy(bytes);
    let names = ToolNames::new(KNOWN);
    let whole = parse_text_calls(&text, &names);
    assert!(whole.calls.len() <= MAX_TEXT_CALLS + 2);
    assert!(whole.prose.len() + whole.reasoning.len() <= text.len());
    for call in &whole.calls {
        assert!(text.contains(&call.raw));
    }

    let mut reader = TextReader::new(&names);
    let mut shown = String::new();
    let mut rest = text.as_ref();
    while !rest.is_empty() {
        let (piece, behind) = rest.split_at(rest.ceil_char_boundary(usize::from(*step % 16) + 1));
        shown.push_str(&reader.push(piece));
        rest = behind;
    }
    let (last, message) = reader.finish();
    shown.push_str(&last);
    assert_eq!(message, whole);
    // Reasoning that the model only ended was shown before that could be known.
    assert!(shown == whole.prose || (shown.ends_with(&whole.prose) && !whole.reasoning.is_empty()));

    // A call in a notation that some model falls back into is never an answer.
    let arguments = serde_json::json!({"path": text});
    for call in [
        format!("read {arguments}"),
        format!("<function=read{arguments}</function>"),
        format!("<function=read({arguments})</function>"),
    ] {
        let parsed = parse_text_calls(&call, &names);
        assert!(parsed.calls.len() == 1 && parsed.prose.is_empty());
    }

    let block = render_tool_result("read", "call_1", &text);
    assert!(parse_text_calls(&block, &names).calls.is_empty());
    let repeated = TextReader::new(&names).with_results([block.as_str()]).read(&defuse(&text));
    assert!(repeated.calls.is_empty());
}
