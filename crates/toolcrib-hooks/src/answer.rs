//! The JSON object that a hook returns.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use toolcrib_document::{Format, Limits, parse};
use toolcrib_exec::{HookVerdict, ResultVerdict};
use toolcrib_model::text::clean_text;
use toolcrib_model::{JsonObject, ToolResult};

use crate::MAX_ANSWER_BYTES;
use crate::edit::edit_texts;
use crate::error::Failure;

/// The maximum number of texts and pointers of one verdict.
const MAX_REDACTIONS: usize = 10_000;

/// The maximum number of characters of an answer that an error shows.
const MAX_SHOWN_CHARS: usize = 200;

/// The verdict of a hook on a call.
#[derive(Debug, Deserialize)]
#[serde(tag = "verdict", rename_all = "lowercase", deny_unknown_fields)]
enum CallAnswer {
    Allow {},
    Deny {
        reason: String,
    },
    Ask {
        reason: String,
    },
    Change {
        arguments: JsonObject,
        #[serde(default)]
        reason: Option<String>,
    },
}

/// The verdict of a hook on a result.
#[derive(Debug, Deserialize)]
#[serde(tag = "verdict", rename_all = "lowercase", deny_unknown_fields)]
enum ResultAnswer {
    Keep {
        #[serde(default)]
        note: Option<String>,
    },
    Change {
        result: Value,
        #[serde(default)]
        note: Option<String>,
    },
    Redact {
        /// Texts to remove wherever they are.
        #[serde(default)]
        texts: Vec<String>,
        /// JSON pointers of values of the result.
        #[serde(default)]
        pointers: Vec<String>,
        #[serde(default)]
        note: Option<String>,
    },
    Block {
        reason: String,
    },
}

/// Reads the verdict on a call.
pub(crate) fn call_verdict(answer: &[u8]) -> Result<HookVerdict, Failure> {
    Ok(match parsed(answer, "allow, deny, ask, change")? {
        CallAnswer::Allow {} => HookVerdict::Allow,
        CallAnswer::Deny { reason } => HookVerdict::Deny { reason },
        CallAnswer::Ask { reason } => HookVerdict::Ask { reason },
        CallAnswer::Change { arguments, reason } => HookVerdict::Change { arguments, reason },
    })
}

/// Reads the verdict on a result, and applies it to the result.
pub(crate) fn result_verdict(answer: &[u8], result: &ToolResult) -> Result<ResultVerdict, Failure> {
    Ok(match parsed(answer, "keep, change, redact, block")? {
        ResultAnswer::Keep { note } => ResultVerdict::Keep { note },
        ResultAnswer::Change { .. } if !result.is_ok() => {
            return Err(
                "it changed the result of a call that failed; return `keep`, `redact` or `block`".into()
            );
        }
        ResultAnswer::Change { result: changed, note } => {
            let result = ToolResult { result: changed, ..result.clone() };
            ResultVerdict::Change { result: Box::new(result), note }
        }
        ResultAnswer::Redact { texts, pointers, note } => {
            let result = redacted(result.clone(), &texts, &pointers)?;
            ResultVerdict::Redact { result: Box::new(result), note }
        }
        ResultAnswer::Block { reason } => ResultVerdict::Block { reason },
    })
}

fn parsed<T: DeserializeOwned>(answer: &[u8], verdicts: &str) -> Result<T, Failure> {
    let limits = Limits { max_bytes: MAX_ANSWER_BYTES, ..Limits::default() };
    let parsed = parse(answer, Format::Json, &limits).and_then(|document| document.deserialize());
    parsed.map_err(|error| {
        let beginning = String::from_utf8_lossy(answer.get(..MAX_SHOWN_CHARS * 4).unwrap_or(answer));
        let shown = clean_text(&beginning, MAX_SHOWN_CHARS);
        let shown = if shown.is_empty() { "nothing".to_owned() } else { format!("`{shown}`") };
        let problem = clean_text(&error.to_string(), MAX_SHOWN_CHARS);
        Failure::with_returned(
            format!("expected one JSON object with a `verdict` ({verdicts})"),
            format!("found {shown} ({problem})"),
        )
    })
}

/// Returns a result without some texts and values. What is not found is an error: the hook has meant something else.
fn redacted(mut result: ToolResult, texts: &[String], pointers: &[String]) -> Result<ToolResult, Failure> {
    if texts.is_empty() && pointers.is_empty() {
        let reason =
            "its `redact` names neither `texts` nor `pointers`; return `keep` to leave the result as it is";
        return Err(reason.into());
    }
    if texts.len() + pointers.len() > MAX_REDACTIONS {
        return Err(format!("its `redact` names more than {MAX_REDACTIONS} texts and pointers").into());
    }
    if !pointers.is_empty() {
        // It may hold the values once more, elsewhere.
        result.forget_client_content();
    }
    for pointer in pointers {
        let Some(value) = result.result.pointer_mut(pointer) else {
            let shown = clean_text(pointer, MAX_SHOWN_CHARS);
            return Err(Failure::with_returned(
                "a pointer of its `redact` names no value of the result",
                shown,
            ));
        };
        *value = REDACTED.into();
    }
    if texts.iter().any(String::is_empty) {
        return Err("a text of its `redact` is empty".into());
    }
    // A text within a longer one is removed with it.
    let mut longest_first: Vec<(usize, &str)> = texts.iter().map(String::as_str).enumerate().collect();
    longest_first.sort_by_key(|(_, text)| std::cmp::Reverse(text.len()));
    let mut is_found = vec![false; texts.len()];
    edit_texts(&mut result, &mut |given| {
        let mut edited = None;
        for (position, text) in &longest_first {
            if given.contains(text) {
                if let Some(found) = is_found.get_mut(*position) {
                    *found = true;
                }
                edited = Some(edited.as_deref().unwrap_or(given).replace(text, REDACTED));
            }
        }
        edited
    });
    match is_found.iter().position(|found| !found) {
        // The text itself may be confidential.
        Some(position) => Err(format!("the text {position} of its `redact` is not in the result").into()),
        None => Ok(result),
    }
}

/// The replacement of a text or a value that a hook removes.
const REDACTED: &str = "[redacted]";
