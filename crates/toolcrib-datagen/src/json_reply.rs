//! The JSON object that a model is asked for, read out of its reply.

use serde::de::DeserializeOwned;
use serde_json::Value;

/// The number of characters of a reply that errors quote.
const QUOTED_CHARS: usize = 200;

/// Parses the JSON object of a reply, which may stand in a code block or between sentences.
pub(crate) fn parse<T: DeserializeOwned>(reply: &str) -> Result<T, String> {
    let quoted: String = reply.chars().take(QUOTED_CHARS).collect();
    let object = reply.find('{').zip(reply.rfind('}')).and_then(|(begin, end)| reply.get(begin..=end));
    let object = object.ok_or_else(|| format!("there is no JSON object in `{quoted}`"))?;
    let value: Value =
        serde_json::from_str(object).map_err(|error| format!("the JSON is invalid: {error}"))?;
    serde_json::from_value(value).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::parse;

    #[test]
    fn an_object_is_read_out_of_sentences_and_code_blocks() {
        let reply = "Sure!\n```json\n{\"a\": {\"b\": 1}}\n```\nDone.";
        assert_eq!(parse::<Value>(reply), Ok(json!({"a": {"b": 1}})));
    }

    #[test]
    fn a_reply_without_an_object_is_quoted() {
        assert_eq!(parse::<Value>("no"), Err("there is no JSON object in `no`".to_owned()));
    }
}
