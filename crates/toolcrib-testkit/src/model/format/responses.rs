//! The Responses API of `OpenAI`.

use serde_json::{Map, Value, json};

use super::{Call, Encode, Whole, check_name, check_results, named};

/// The content of all encrypted reasoning.
const ENCRYPTED: &str = "ZW5jcnlwdGVk";

/// The type of the tool that searches for others. A call with this name in a script is a call of it.
const TOOL_SEARCH: &str = "tool_search";

/// The events of a stream, with the item that is open.
#[derive(Default)]
pub(super) struct ResponseEncoder {
    has_begun: bool,
    open: Option<(OpenItem, Value)>,
    output: Vec<Value>,
    events: u64,
    /// The calls so far, with the places of their items.
    calls: Vec<(Call, usize)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum OpenItem {
    Message,
    Reasoning,
    Call,
}

impl ResponseEncoder {
    fn event(&mut self, kind: &str, mut fields: Value) -> String {
        if let Value::Object(fields) = &mut fields {
            fields.insert("sequence_number".to_owned(), self.events.into());
        }
        self.events += 1;
        named(kind, fields)
    }

    /// Returns an event of the item that is open.
    fn item_event(&mut self, kind: &str, fields: Value) -> String {
        let mut all = Map::new();
        let id = self.open.as_ref().and_then(|(_, item)| item.get("id").cloned());
        all.insert("item_id".to_owned(), id.unwrap_or_default());
        all.insert("output_index".to_owned(), self.output.len().into());
        if let Value::Object(mut fields) = fields {
            all.append(&mut fields);
        }
        self.event(kind, Value::Object(all))
    }

    fn open(&mut self, kind: OpenItem, item: Value) -> String {
        let text = self.begin() + &self.close();
        let place = self.output.len();
        let added = self.event("response.output_item.added", json!({"output_index": place, "item": item}));
        self.open = Some((kind, item));
        text + &added
    }

    fn close(&mut self) -> String {
        let Some((kind, mut item)) = self.open.take() else { return String::new() };
        if let (OpenItem::Reasoning, Value::Object(item)) = (&kind, &mut item) {
            item.insert("encrypted_content".to_owned(), ENCRYPTED.into());
        }
        let place = self.output.len();
        let done = self.event("response.output_item.done", json!({"output_index": place, "item": item}));
        self.output.push(item);
        done
    }

    /// Adds to a text of the item that is open.
    fn extend(&mut self, pointer: &str, part: &str) {
        let text = self.open.as_mut().and_then(|(_, item)| item.pointer_mut(pointer));
        if let Some(Value::String(text)) = text {
            text.push_str(part);
        }
    }
}

impl Encode for ResponseEncoder {
    fn begin(&mut self) -> String {
        if std::mem::replace(&mut self.has_begun, true) {
            return String::new();
        }
        let response = response("in_progress", &Value::Null, &[], &Value::Null);
        self.event("response.created", json!({ "response": response }))
    }

    fn say(&mut self, text: &str) -> String {
        let mut begun = String::new();
        if !matches!(self.open, Some((OpenItem::Message, _))) {
            let item = message(self.output.len(), "");
            begun = self.open(OpenItem::Message, item);
        }
        self.extend("/content/0/text", text);
        let delta = json!({"content_index": 0, "delta": text, "logprobs": []});
        begun + &self.item_event("response.output_text.delta", delta)
    }

    fn think(&mut self, text: &str) -> String {
        let mut begun = String::new();
        if !matches!(self.open, Some((OpenItem::Reasoning, _))) {
            let id = format!("rs_{}", self.output.len());
            let item =
                json!({"id": id, "type": "reasoning", "summary": [{"type": "summary_text", "text": ""}]});
            begun = self.open(OpenItem::Reasoning, item);
        }
        self.extend("/summary/0/text", text);
        let delta = json!({"summary_index": 0, "delta": text});
        begun + &self.item_event("response.reasoning_summary_text.delta", delta)
    }

    fn call(&mut self, call: &Call) -> String {
        let mut text = String::new();
        let known = self.calls.iter().rev().find(|(known, _)| call.continues(known)).map(|(_, place)| *place);
        let place = known.unwrap_or_else(|| {
            let place = self.output.len() + usize::from(self.open.is_some());
            text = self.open(OpenItem::Call, function_call(place, call, &Value::String(String::new())));
            self.calls.push((call.clone(), place));
            place
        });
        // It comes in one piece.
        if call.name.as_ref().and_then(Value::as_str) == Some(TOOL_SEARCH) {
            return text;
        }
        let Some(part) = call.arguments.as_ref().filter(|part| !part.is_null()) else { return text };
        let item = match self.output.get_mut(place) {
            Some(item) => Some(item),
            None => self.open.as_mut().map(|(_, item)| item),
        };
        if let Some(item) = item {
            match (item.pointer_mut("/arguments"), part) {
                (Some(Value::String(known)), Value::String(part)) => known.push_str(part),
                (Some(known), part) => known.clone_from(part),
                (None, _) => {}
            }
        }
        let delta = json!({"item_id": format!("fc_{place}"), "output_index": place, "delta": part});
        text + &self.event("response.function_call_arguments.delta", delta)
    }

    fn finish(&mut self, reason: &str) -> String {
        let text = self.begin() + &self.close();
        let (status, details) = status(reason);
        let response = response(status, &details, &self.output, &usage());
        text + &self.event(&format!("response.{status}"), json!({ "response": response }))
    }

    fn usage(&mut self) -> String {
        String::new()
    }

    fn done(&mut self) -> String {
        String::new()
    }
}

fn status(reason: &str) -> (&'static str, Value) {
    match reason {
        "length" => ("incomplete", json!({"reason": "max_output_tokens"})),
        "content_filter" => ("incomplete", json!({"reason": "content_filter"})),
        _ => ("completed", Value::Null),
    }
}

fn usage() -> Value {
    json!({
        "input_tokens": 100, "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 10, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 110,
    })
}

fn response(status: &str, details: &Value, output: &[Value], usage: &Value) -> Value {
    json!({
        "id": "resp_1", "object": "response", "created_at": 0, "status": status, "error": null,
        "incomplete_details": details, "model": "m", "output": output, "parallel_tool_calls": true,
        "tool_choice": "auto", "tools": [], "usage": usage,
    })
}

fn message(place: usize, text: &str) -> Value {
    json!({
        "id": format!("msg_{place}"), "type": "message", "status": "completed", "role": "assistant",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
    })
}

fn function_call(place: usize, call: &Call, arguments: &Value) -> Value {
    if call.name.as_ref().and_then(Value::as_str) == Some(TOOL_SEARCH) {
        return json!({
            "id": format!("tsc_{place}"), "type": "tool_search_call", "status": "completed", "execution": "client",
            "call_id": call.id, "arguments": super::object_of(call.arguments.as_ref()),
        });
    }
    json!({
        "id": format!("fc_{place}"), "type": "function_call", "status": "completed", "call_id": call.id,
        "name": call.name, "arguments": arguments,
    })
}

pub(super) fn whole(whole: &Whole) -> Value {
    let text = (!whole.say.is_empty()).then(|| message(0, &whole.say));
    let calls = whole
        .calls
        .iter()
        .zip(1..)
        .map(|(call, place)| function_call(place, call, call.arguments.as_ref().unwrap_or(&Value::Null)));
    let output: Vec<_> = text.into_iter().chain(calls).collect();
    let (status, details) = status(&whole.finish);
    response(status, &details, &output, &usage())
}

/// Checks what the API refuses.
pub(super) fn check(request: &Value) -> Result<(), String> {
    if !request.get("model").is_some_and(Value::is_string) {
        return Err("`model` is required".to_owned());
    }
    for tool in list(request, "tools") {
        if tool.get("type").and_then(Value::as_str) == Some(TOOL_SEARCH) {
            check_search(tool)?;
            continue;
        }
        check_name(tool.get("name").unwrap_or(&Value::Null))?;
        if tool.get("type").and_then(Value::as_str) == Some("custom") {
            continue;
        }
        if tool.pointer("/parameters/type").and_then(Value::as_str) != Some("object") {
            return Err("parameters have to be of type object".to_owned());
        }
    }
    let input = list(request, "input");
    if input.is_empty() {
        return Err("`input` has to hold at least one item".to_owned());
    }
    let (mut calls, mut results) = (Vec::new(), Vec::new());
    for item in input {
        let text = |key: &str| item.get(key).and_then(Value::as_str).unwrap_or_default();
        match text("type") {
            "function_call" => {
                check_name(item.get("name").unwrap_or(&Value::Null))?;
                if serde_json::from_str::<Value>(text("arguments")).is_err() {
                    return Err("the arguments of a call have to be JSON in a text".to_owned());
                }
                calls.push(text("call_id").to_owned());
            }
            "function_call_output" => results.push(text("call_id").to_owned()),
            "tool_search_call" => {
                if !item.get("arguments").is_some_and(Value::is_object) {
                    return Err("the arguments of a search have to be an object".to_owned());
                }
                calls.push(text("call_id").to_owned());
            }
            "tool_search_output" => {
                for tool in list(item, "tools") {
                    check_name(tool.get("name").unwrap_or(&Value::Null))?;
                    if tool.get("defer_loading") != Some(&Value::Bool(true)) {
                        return Err("a tool that a search loads has to be deferred".to_owned());
                    }
                }
                results.push(text("call_id").to_owned());
            }
            "reasoning" if text("encrypted_content") != ENCRYPTED => {
                return Err("the encrypted content of the reasoning cannot be verified".to_owned());
            }
            _ => {}
        }
    }
    check_results(&mut calls, &results)
}

/// Checks the tool that searches, which the client runs.
fn check_search(tool: &Value) -> Result<(), String> {
    let is_of_client = tool.get("execution").and_then(Value::as_str) == Some("client");
    let is_object = tool.pointer("/parameters/type").and_then(Value::as_str) == Some("object");
    if is_of_client && is_object {
        Ok(())
    } else {
        Err("a search of the client has to have parameters of type object".to_owned())
    }
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
