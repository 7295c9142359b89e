//! The changes of texts that arguments describe.

use maud::{Markup, html};
use serde_json::Value;
use toolcrib_document::{LineChange, line_diff};
use toolcrib_model::JsonObject;

use super::super::html::{text, text_to};

/// The names of arguments that hold a text and its replacement.
const PAIRS: [(&str, &str); 6] = [
    ("old_text", "new_text"),
    ("oldText", "newText"),
    ("old_string", "new_string"),
    ("old_str", "new_str"),
    ("before", "after"),
    ("old", "new"),
];

/// The maximum number of changes that are shown.
const MAX_CHANGES: usize = 10;

/// The maximum number of lines of a change that are shown.
const MAX_LINES: usize = 200;

/// The maximum length of a shown line, in characters.
const MAX_LINE_CHARS: usize = 400;

/// Renders the changes of the arguments, or of the objects in a list among them. The arguments themselves are shown too.
pub(super) fn diffs(arguments: &JsonObject) -> Markup {
    let lists = arguments.values().filter_map(Value::as_array).flatten().filter_map(Value::as_object);
    let all: Vec<_> = std::iter::once(arguments).chain(lists).filter_map(change).take(MAX_CHANGES).collect();
    html! {
        @for (name, old, new) in all {
            p class="dim" { "The change of " (text(name)) ":" }
            pre class="diff" tabindex="0" { (lines(old, new)) }
        }
    }
}

fn change(object: &JsonObject) -> Option<(&'static str, &str, &str)> {
    PAIRS
        .into_iter()
        .find_map(|(old, new)| Some((new, object.get(old)?.as_str()?, object.get(new)?.as_str()?)))
}

fn lines(old: &str, new: &str) -> Markup {
    let all = line_diff(old, new);
    html! {
        @for (change, line) in all.iter().take(MAX_LINES) {
            @let class = match change {
                LineChange::Kept => "kept",
                LineChange::Removed => "removed",
                LineChange::Added => "added",
            };
            span class=(class) { (change.mark()) " " (text_to(line, MAX_LINE_CHARS)) "\n" }
        }
        @if all.len() > MAX_LINES { "and " (all.len() - MAX_LINES) " more lines" }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::diffs;

    #[test]
    fn a_replacement_is_shown_line_by_line_and_stays_a_text() {
        let arguments = json!({"path": "a", "edits": [{"old_text": "a\n<b>", "new_text": "a\nc"}]});
        let html = diffs(arguments.as_object().unwrap()).into_string();
        for shown in [
            "<span class=\"kept\">  a\n</span>",
            "<span class=\"removed\">- &lt;b&gt;\n</span>",
            "<span class=\"added\">+ c\n</span>",
        ] {
            assert!(html.contains(shown), "{shown}: {html}");
        }
        assert_eq!(diffs(json!({"old_text": "a"}).as_object().unwrap()).into_string(), "");
    }
}
