//! Chat Completions.

use serde_json::{Map, Value, json};

use super::{Call, Encode, Whole, event};

/// The events of a stream, each independent of the others.
pub(super) struct CompletionEncoder;

impl Encode for CompletionEncoder {
    fn begin(&mut self) -> String {
        delta(&json!({"role": "assistant", "content": ""}))
    }

    fn say(&mut self, text: &str) -> String {
        delta(&json!({"content": text}))
    }

    fn think(&mut self, text: &str) -> String {
        delta(&json!({"reasoning_content": text}))
    }

    fn call(&mut self, call: &Call) -> String {
        delta(&json!({"tool_calls": [piece(call)]}))
    }

    fn finish(&mut self, reason: &str) -> String {
        event(&chunk(&json!([{"index": 0, "delta": {}, "finish_reason": reason}])))
    }

    fn usage(&mut self) -> String {
        let usage = json!({"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110});
        event(&json!({"object": "chat.completion.chunk", "choices": [], "usage": usage}))
    }

    fn done(&mut self) -> String {
        "data: [DONE]\n\n".to_owned()
    }
}

/// Returns the event of a change of the message.
pub(in crate::model) fn delta(change: &Value) -> String {
    event(&chunk(&json!([{"index": 0, "delta": change, "finish_reason": null}])))
}

fn chunk(choices: &Value) -> Value {
    json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0, "model": "m", "choices": choices})
}

/// Returns the delta of a call with the fields that are given.
fn piece(call: &Call) -> Value {
    let entries = |pairs: [(&str, &Option<Value>); 2]| -> Map<String, Value> {
        pairs.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value.clone()?))).collect()
    };
    let mut piece = entries([("index", &call.index), ("id", &call.id)]);
    piece.insert("type".to_owned(), "function".into());
    piece.insert(
        "function".to_owned(),
        entries([("name", &call.name), ("arguments", &call.arguments)]).into(),
    );
    piece.into()
}

pub(super) fn whole(whole: &Whole) -> Value {
    let mut message = json!({"role": "assistant", "content": Some(&whole.say).filter(|say| !say.is_empty())});
    if let (Value::Object(message), false) = (&mut message, whole.calls.is_empty()) {
        message.insert("tool_calls".to_owned(), whole.calls.iter().map(piece).collect());
    }
    json!({"choices": [{"index": 0, "message": message, "finish_reason": whole.finish}]})
}
