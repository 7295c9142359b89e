//! `generateContent` of Gemini.

use serde_json::{Value, json};

use super::{Call, Encode, Whole, check_name, event, object_of};

/// The signature of all calls.
const SIGNATURE: &str = "c2lnbmVk";

/// The signature of a call that another model made.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// The keywords that a schema may have.
const KEYWORDS: [&str; 21] = [
    "type",
    "format",
    "title",
    "description",
    "nullable",
    "enum",
    "maxItems",
    "minItems",
    "properties",
    "required",
    "minProperties",
    "maxProperties",
    "minLength",
    "maxLength",
    "pattern",
    "example",
    "anyOf",
    "propertyOrdering",
    "items",
    "minimum",
    "maximum",
];

/// The events of a stream. Calls come whole, so that their pieces are collected.
#[derive(Default)]
pub(super) struct ContentEncoder {
    calls: Vec<Call>,
}

impl ContentEncoder {
    /// Returns the calls that are whole.
    fn flush(&mut self) -> String {
        let calls = std::mem::take(&mut self.calls);
        if calls.is_empty() {
            return String::new();
        }
        chunk(&calls.iter().enumerate().map(call_part).collect::<Vec<_>>(), None)
    }
}

impl Encode for ContentEncoder {
    fn begin(&mut self) -> String {
        chunk(&[json!({"text": ""})], None)
    }

    fn say(&mut self, text: &str) -> String {
        self.flush() + &chunk(&[json!({ "text": text })], None)
    }

    fn think(&mut self, text: &str) -> String {
        self.flush() + &chunk(&[json!({"text": text, "thought": true})], None)
    }

    fn call(&mut self, call: &Call) -> String {
        let known = self.calls.iter_mut().rev().find(|known| call.continues(known));
        match (known.map(|known| &mut known.arguments), &call.arguments) {
            (Some(Some(Value::String(known))), Some(Value::String(part))) => known.push_str(part),
            (Some(known @ None), part) => known.clone_from(part),
            (Some(_), _) => {}
            (None, _) => self.calls.push(call.clone()),
        }
        String::new()
    }

    fn finish(&mut self, reason: &str) -> String {
        self.flush() + &chunk(&[], Some(finish_reason(reason)))
    }

    fn usage(&mut self) -> String {
        String::new()
    }

    fn done(&mut self) -> String {
        String::new()
    }
}

fn finish_reason(reason: &str) -> &str {
    match reason {
        "stop" | "tool_calls" => "STOP",
        "length" => "MAX_TOKENS",
        "content_filter" => "SAFETY",
        other => other,
    }
}

fn chunk(parts: &[Value], reason: Option<&str>) -> String {
    event(&response(parts, reason))
}

fn response(parts: &[Value], reason: Option<&str>) -> Value {
    let mut candidate = json!({"content": {"parts": parts, "role": "model"}, "index": 0});
    if let (Value::Object(candidate), Some(reason)) = (&mut candidate, reason) {
        candidate.insert("finishReason".to_owned(), reason.into());
    }
    let usage = json!({"promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110});
    json!({"candidates": [candidate], "usageMetadata": usage, "modelVersion": "m", "responseId": "r"})
}

/// Returns the part of a call. The first of a message is signed.
fn call_part((number, call): (usize, &Call)) -> Value {
    let args = object_of(call.arguments.as_ref());
    let mut part = json!({"functionCall": {"id": call.id, "name": call.name, "args": args}});
    if let (Value::Object(part), 0) = (&mut part, number) {
        part.insert("thoughtSignature".to_owned(), SIGNATURE.into());
    }
    part
}

pub(super) fn whole(whole: &Whole) -> Value {
    let text = (!whole.say.is_empty()).then(|| json!({"text": whole.say}));
    let parts: Vec<_> = text.into_iter().chain(whole.calls.iter().enumerate().map(call_part)).collect();
    response(&parts, Some(finish_reason(&whole.finish)))
}

/// Checks what the API refuses.
pub(super) fn check(request: &Value) -> Result<(), String> {
    for tool in list(request.pointer("/tools/0").unwrap_or(&Value::Null), "functionDeclarations") {
        check_name(tool.get("name").unwrap_or(&Value::Null))?;
        if let Some(schema) = tool.get("parameters") {
            check_schema(schema)?;
        }
    }
    let contents = list(request, "contents");
    if contents.is_empty() {
        return Err("`contents` has to hold at least one".to_owned());
    }
    let mut open: Vec<&Value> = Vec::new();
    for content in contents {
        let parts = list(content, "parts");
        if parts.is_empty() {
            return Err("a content has to have parts".to_owned());
        }
        let of_kind = |key: &str| -> Vec<&Value> {
            parts.iter().filter_map(|part| part.get(key)?.get("name")).collect()
        };
        let (calls, results) = (of_kind("functionCall"), of_kind("functionResponse"));
        if content.get("role").and_then(Value::as_str) == Some("model") {
            let first = parts.iter().find(|part| part.get("functionCall").is_some());
            let signature = first.and_then(|part| part.get("thoughtSignature")?.as_str());
            if first.is_some() && ![Some(SIGNATURE), Some(NO_SIGNATURE)].contains(&signature) {
                return Err("a call lacks its signature".to_owned());
            }
        }
        if !open.is_empty() && results != open {
            return Err(format!("expected the results of {open:?}, found {results:?}"));
        }
        if open.is_empty() && !results.is_empty() {
            return Err(format!("the results {results:?} answer no call"));
        }
        calls.iter().try_for_each(|name| check_name(name))?;
        open = calls;
    }
    if open.is_empty() { Ok(()) } else { Err(format!("the calls {open:?} have no results")) }
}

/// Checks that a schema has no keyword that the API does not know.
fn check_schema(schema: &Value) -> Result<(), String> {
    let Value::Object(schema) = schema else { return Err("a schema has to be an object".to_owned()) };
    if let Some(keyword) = schema.keys().find(|key| !KEYWORDS.contains(&key.as_str())) {
        return Err(format!("the schema has an unknown keyword {keyword:?}"));
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.into_iter().flat_map(|properties| properties.values()).try_for_each(check_schema)?;
    schema.get("items").into_iter().try_for_each(check_schema)?;
    list(&Value::Object(schema.clone()), "anyOf").iter().try_for_each(check_schema)
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
