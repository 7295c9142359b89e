//! A message that is one JSON object and nothing else, bare or in a code fence.

use serde_json::{Deserializer, Map, Value};
use toolcrib_document::StrictValue;

use super::object::{ARGUMENT_KEYS, NAME_KEYS, calls, guess_name, is_name, reason, unreadable};
use super::{Found, TextCall};

/// Languages that a fence around a call is marked with.
const LANGUAGES: [&str; 4] = ["", "json", "tool_call", "tool_code"];

/// What a call may say beside its name and arguments. An object that says more is something else.
const OTHER_KEYS: [&str; 3] = ["id", "call_id", "type"];

/// A message that is a code fence around a call.
pub(super) fn find_fenced(text: &str) -> Vec<Found> {
    let found = || {
        let fenced = text.trim().strip_prefix("```")?;
        let inner = fenced.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
        let (language, _) = fenced.split_at(fenced.len() - inner.len());
        if !LANGUAGES.iter().any(|known| known.eq_ignore_ascii_case(language)) {
            return None;
        }
        // A message that breaks off has no closing fence.
        read(text, inner.strip_suffix("```").unwrap_or(inner))
    };
    found().into_iter().collect()
}

/// A message that is a call.
pub(super) fn find_bare(text: &str) -> Vec<Found> {
    read(text, text).into_iter().collect()
}

fn read(text: &str, inner: &str) -> Option<Found> {
    let inner = inner.trim();
    if !inner.starts_with('{') {
        return None;
    }
    let mut values = Deserializer::from_str(inner).into_iter::<StrictValue>();
    let calls = match values.next()? {
        Ok(StrictValue(Value::Object(object))) => {
            (is_call(&object) && values.byte_offset() == inner.len()).then(|| calls(object.into(), inner))?
        }
        Ok(_) => return None,
        Err(error) => vec![broken(inner, &error)?],
    };
    Some(Found { range: 0..text.len(), calls })
}

/// Whether an object is a call and nothing else can be meant.
fn is_call(object: &Map<String, Value>) -> bool {
    let has_name = NAME_KEYS.iter().any(|key| object.get(*key).and_then(Value::as_str).is_some_and(is_name));
    let count = |keys: &[&str]| keys.iter().filter(|key| object.contains_key(**key)).count();
    has_name && count(&NAME_KEYS) == 1 && count(&ARGUMENT_KEYS) == 1 && count(&OTHER_KEYS) + 2 == object.len()
}

/// An object that is not JSON, where a name and arguments show that a call was meant.
fn broken(inner: &str, error: &serde_json::Error) -> Option<TextCall> {
    let name = guess_name(inner)?;
    let has_arguments = ARGUMENT_KEYS.iter().any(|key| inner.contains(&format!("\"{key}\"")));
    has_arguments
        .then(|| unreadable(name.to_owned(), format!("the call is not valid JSON: {}", reason(error)), inner))
}
