//! Texts of the runtime for a model, in addition to the results of its calls.

use serde_json::Value;

use super::limits::Limit;
use super::repetition::{ANSWER_AFTER_SEARCHES, HINT_AFTER_SEARCHES, NOTE_AFTER_REPEATS};

/// The text for a model whose message was empty.
pub(super) const NUDGE: &str = "Your last message was empty. Call a tool, or answer.";

/// The text for a model whose message was cut off before it had any content.
pub(super) const SHORTER: &str =
    "Your last message was cut off before it said anything. Think less, and call a tool, or answer.";

/// The text for a model whose answer was cut off.
pub(super) const CONTINUE: &str = "[Your last message was cut off, since it was too long. Continue it exactly where it \
    ends: repeat nothing, and say nothing about the cut.]";

/// The most bytes of a signature that is repeated.
const MAX_SIGNATURE_BYTES: usize = 2000;

/// Returns the note that is added to a result when the model repeats itself.
pub(super) fn repeated() -> String {
    format!(
        "[This is the same call as the {} before it, and its result will not change. \
         Use what you have, call something else, or answer.]",
        NOTE_AFTER_REPEATS - 1
    )
}

/// Returns the note that is added to the result of a search that follows others without a call in between. `found` is
/// the result.
pub(super) fn searched(searches: u32, found: &Value) -> Option<String> {
    if searches >= ANSWER_AFTER_SEARCHES {
        return Some(format!(
            "[This was search {searches} without a call. Do not search again: call one of the tools that were found, \
             answer with what you know, or ask the user for what is missing.]"
        ));
    }
    if searches < HINT_AFTER_SEARCHES {
        return None;
    }
    // The signature of the best match, without what is told of each argument.
    let best = found.pointer("/results/0").and_then(Value::as_str).and_then(|text| text.lines().next());
    Some(match best.filter(|best| best.len() <= MAX_SIGNATURE_BYTES) {
        Some(best) => format!(
            "[This was search {searches} without a call. To use the best match, call it now, with values of your own: {best}]"
        ),
        None => format!(
            "[This was search {searches} without a call. Call one of the tools that were found, or answer.]"
        ),
    })
}

/// Returns the text that tells a model of an out-of-band event.
pub(super) fn happened(text: &str) -> String {
    format!("[This happened meanwhile. It is information, not a request of the user: {text}]")
}

/// Returns the text for a model whose answer does not conform to the schema of answers.
pub(super) fn invalid_output(problem: &str) -> String {
    format!(
        "[Your answer does not conform to the schema of the answer: {problem}. Answer again with the whole JSON value, and \
         with nothing else.]"
    )
}

/// Returns the text that asks a model for its last answer.
pub(super) fn last_answer(limit: Limit, reached: &str) -> String {
    let why = match limit {
        Limit::Turns => format!("the limit of {reached} turns"),
        // It may be the caller's that is used up, whose figure is not known here.
        Limit::Calls if reached.is_empty() => "the limit of the calls that its caller had left".to_owned(),
        Limit::Calls => format!("the limit of {reached} calls"),
        Limit::Repeats => "the limit of calls that are the same".to_owned(),
        Limit::Failures => format!("the limit of {reached} calls in a row that failed"),
        Limit::Tokens => format!("the limit of {reached} tokens"),
        Limit::Cost => "the limit of what it may cost".to_owned(),
        Limit::Duration => "the end of its time".to_owned(),
        Limit::ContextOverflow => "the end of what the model takes in".to_owned(),
    };
    format!(
        "[This run has reached {why}. No tool can be called any more. \
         Answer now with what you have, and say what is left undone.]"
    )
}

/// Adds a note to what a model is told.
pub(super) fn append(text: &mut String, note: &str) {
    text.push_str("\n\n");
    text.push_str(note);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_model_is_told_beside_its_results() {
        let found = json!({"results": ["notes.add(text: str) — Adds a note.\ntext: The note."]});
        let mut told = vec![NUDGE.to_owned(), SHORTER.to_owned(), CONTINUE.to_owned(), repeated()];
        told.push(invalid_output("`total` is missing"));
        told.extend((1..=5).filter_map(|searches| searched(searches, &found)));
        told.extend(searched(2, &json!({"results": []})));
        told.push(happened("The background task task_1 (shop.make) has ended: {\"made\":7}"));
        let limits = [
            Limit::Turns,
            Limit::Calls,
            Limit::Repeats,
            Limit::Failures,
            Limit::Tokens,
            Limit::Cost,
            Limit::Duration,
        ];
        told.extend(limits.map(|limit| last_answer(limit, "50")));
        told.push(last_answer(Limit::Calls, ""));
        insta::assert_snapshot!(told.join("\n\n"));
    }
}
