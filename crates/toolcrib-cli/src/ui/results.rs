//! Results of calls that a person can see whole: `/expand N`.

use std::collections::VecDeque;

use serde_json::Value;
use toolcrib_model::ToolResult;

use crate::ui::printable::{Layout, cut};

/// The most results that are kept, the last ones.
const MAX_RESULTS: usize = 100;

/// The most bytes that are kept of a result.
const MAX_RESULT_BYTES: usize = 64 * 1024;

/// The last results of a conversation.
#[derive(Default)]
pub(crate) struct Results {
    kept: VecDeque<KeptResult>,
    /// The number of the last one, from 1.
    last: usize,
}

struct KeptResult {
    name: String,
    text: String,
}

impl Results {
    /// Keeps a result, and returns its number.
    pub(crate) fn keep(&mut self, name: &str, result: &ToolResult) -> usize {
        let text = match (&result.error, &result.result) {
            (Some(error), _) => error.to_string(),
            (None, Value::String(text)) => text.clone(),
            // A JSON value has only keys that are texts.
            (None, value) => serde_json::to_string_pretty(value).unwrap_or_default(),
        };
        let text = cut(text.trim_end(), Layout::Lines, MAX_RESULT_BYTES);
        self.kept.push_back(KeptResult { name: name.to_owned(), text });
        if self.kept.len() > MAX_RESULTS {
            self.kept.pop_front();
        }
        self.last += 1;
        self.last
    }

    /// Returns a result with its title, the last one without a number. An error says which there are.
    pub(crate) fn shown(&self, number: &str) -> Result<String, String> {
        let (first, last) = (self.last + 1 - self.kept.len(), self.last);
        if self.kept.is_empty() {
            return Err("there are no results yet".to_owned());
        }
        let wanted = if number.is_empty() { Ok(last) } else { number.parse() };
        let kept = wanted.ok().and_then(|number: usize| {
            let at = number.checked_sub(first)?;
            Some((number, self.kept.get(at)?))
        });
        let (number, result) = kept.ok_or_else(|| {
            format!("expected the number of a result, from {first} to {last}, found `{number}`")
        })?;
        Ok(format!("[{number}] {}\n{}", result.name, result.text))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_result_is_shown_whole_by_its_number_and_the_last_without_one() {
        let mut results = Results::default();
        assert_eq!(results.shown(""), Err("there are no results yet".to_owned()));
        for number in 1..=MAX_RESULTS + 2 {
            assert_eq!(
                results.keep("shop.price", &ToolResult::ok(None, "shop::price", json!({"n": number}))),
                number
            );
        }
        assert_eq!(results.shown("102").unwrap(), "[102] shop.price\n{\n  \"n\": 102\n}");
        assert_eq!(results.shown(""), results.shown("102"));
        for wrong in ["2", "0", "103", "x", "-1"] {
            let problem = results.shown(wrong).unwrap_err();
            assert_eq!(problem, format!("expected the number of a result, from 3 to 102, found `{wrong}`"));
        }
    }

    #[test]
    fn a_result_steers_no_terminal_and_is_bounded() {
        let mut results = Results::default();
        results.keep("a.b", &ToolResult::ok(None, "a::b", json!("\u{1b}[2Jx\ny")));
        assert_eq!(results.shown("1").unwrap(), "[1] a.b\n\\u{1b}[2Jx\ny");
        results.keep("a.b", &ToolResult::ok(None, "a::b", json!("x".repeat(100_000))));
        assert!(results.shown("").unwrap().ends_with("x… (100000 bytes)"));
    }
}
