//! The Messages API of Anthropic.

use serde_json::{Value, json};

use super::{Call, Encode, Whole, check_name, check_results, named, object_of};

/// The most marks of a request.
const MAX_MARKS: usize = 4;

/// The signature of all thoughts.
const SIGNATURE: &str = "c2lnbmVk";

/// The events of a stream, with the block that is open.
#[derive(Default)]
pub(super) struct MessageEncoder {
    has_begun: bool,
    open: Option<OpenBlock>,
    blocks: u64,
    /// The calls so far, with their blocks.
    calls: Vec<(Call, u64)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum OpenBlock {
    Text,
    Thought,
    Call,
}

impl MessageEncoder {
    fn index(&self) -> u64 {
        self.blocks.saturating_sub(1)
    }

    /// Ends the block that is open.
    fn close(&mut self) -> String {
        let mut text = String::new();
        let index = self.index();
        if self.open == Some(OpenBlock::Thought) {
            let delta = json!({"type": "signature_delta", "signature": SIGNATURE});
            text = named("content_block_delta", json!({"index": index, "delta": delta}));
        }
        if self.open.take().is_some() {
            text += &named("content_block_stop", json!({ "index": index }));
        }
        text
    }

    fn open(&mut self, kind: OpenBlock, block: &Value) -> String {
        let text = self.begin() + &self.close();
        self.open = Some(kind);
        self.blocks += 1;
        text + &named("content_block_start", json!({"index": self.index(), "content_block": block}))
    }

    fn delta(&self, delta: &Value) -> String {
        named("content_block_delta", json!({"index": self.index(), "delta": delta}))
    }

    /// Returns the block of the call that a piece continues, also if the block has ended.
    fn continued(&self, piece: &Call) -> Option<u64> {
        self.calls.iter().rev().find(|(call, _)| piece.continues(call)).map(|(_, block)| *block)
    }
}

impl Encode for MessageEncoder {
    fn begin(&mut self) -> String {
        if std::mem::replace(&mut self.has_begun, true) {
            return String::new();
        }
        let usage = json!({
            "input_tokens": 100, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 1,
        });
        let message = json!({
            "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [],
            "stop_reason": null, "stop_sequence": null, "usage": usage,
        });
        named("message_start", json!({ "message": message })) + &named("ping", json!({}))
    }

    fn say(&mut self, text: &str) -> String {
        let begun = match self.open {
            Some(OpenBlock::Text) => String::new(),
            _ => self.open(OpenBlock::Text, &json!({"type": "text", "text": ""})),
        };
        begun + &self.delta(&json!({"type": "text_delta", "text": text}))
    }

    fn think(&mut self, text: &str) -> String {
        let begun = match self.open {
            Some(OpenBlock::Thought) => String::new(),
            _ => self.open(OpenBlock::Thought, &json!({"type": "thinking", "thinking": "", "signature": ""})),
        };
        begun + &self.delta(&json!({"type": "thinking_delta", "thinking": text}))
    }

    fn call(&mut self, call: &Call) -> String {
        let mut text = String::new();
        let block = if let Some(block) = self.continued(call) {
            block
        } else {
            let input = call.arguments.clone().filter(Value::is_object).unwrap_or_else(|| json!({}));
            let block = json!({"type": "tool_use", "id": call.id, "name": call.name, "input": input});
            text = self.open(OpenBlock::Call, &block);
            self.calls.push((call.clone(), self.index()));
            self.index()
        };
        if let Some(Value::String(part)) = &call.arguments {
            let delta = json!({"type": "input_json_delta", "partial_json": part});
            text += &named("content_block_delta", json!({"index": block, "delta": delta}));
        }
        text
    }

    fn finish(&mut self, reason: &str) -> String {
        let delta = json!({"stop_reason": stop_reason(reason), "stop_sequence": null});
        let usage = json!({"output_tokens": 10});
        self.begin() + &self.close() + &named("message_delta", json!({"delta": delta, "usage": usage}))
    }

    fn usage(&mut self) -> String {
        String::new()
    }

    fn done(&mut self) -> String {
        named("message_stop", json!({}))
    }
}

fn stop_reason(reason: &str) -> &str {
    match reason {
        "stop" => "end_turn",
        "tool_calls" => "tool_use",
        "length" => "max_tokens",
        other => other,
    }
}

pub(super) fn whole(whole: &Whole) -> Value {
    let text = (!whole.say.is_empty()).then(|| json!({"type": "text", "text": whole.say}));
    let calls = whole.calls.iter().map(|call| {
        json!({"type": "tool_use", "id": call.id, "name": call.name, "input": object_of(call.arguments.as_ref())})
    });
    json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m",
        "content": text.into_iter().chain(calls).collect::<Value>(),
        "stop_reason": stop_reason(&whole.finish), "stop_sequence": null,
        "usage": {"input_tokens": 100, "output_tokens": 10},
    })
}

/// Checks what the API refuses.
pub(super) fn check(request: &Value) -> Result<(), String> {
    for key in ["model", "max_tokens"] {
        if request.get(key).is_none_or(Value::is_null) {
            return Err(format!("`{key}` is required"));
        }
    }
    for tool in list(request, "tools") {
        check_name(tool.get("name").unwrap_or(&Value::Null))?;
        if tool.pointer("/input_schema/type").and_then(Value::as_str) != Some("object") {
            return Err("an input schema has to be of type object".to_owned());
        }
        if is_deferred(tool) && tool.get("cache_control").is_some() {
            return Err("a deferred tool has no mark".to_owned());
        }
    }
    let tools = list(request, "tools");
    if !tools.is_empty() && tools.iter().all(is_deferred) {
        return Err("at least one tool has to be loaded".to_owned());
    }
    if request.to_string().matches(r#""cache_control":"#).count() > MAX_MARKS {
        return Err(format!("there are more than {MAX_MARKS} marks"));
    }
    let mut calls = Vec::new();
    let mut expected = "user";
    let messages = list(request, "messages");
    if messages.is_empty() {
        return Err("`messages` has to hold at least one".to_owned());
    }
    for message in messages {
        let role = message.get("role").and_then(Value::as_str).unwrap_or_default();
        if role != expected {
            return Err(format!("expected a message of the {expected}, found {role:?}"));
        }
        // A plain text is short for a block of it.
        let blocks = list(message, "content");
        let text = message.get("content").and_then(Value::as_str).unwrap_or_default();
        if blocks.is_empty() && text.trim().is_empty() {
            return Err("a message is empty".to_owned());
        }
        blocks.iter().try_for_each(check_block)?;
        blocks.iter().try_for_each(|block| check_references(block, tools))?;
        let ids = |kind: &str, key: &str| -> Vec<String> {
            let of_kind =
                blocks.iter().filter(|block| block.get("type").and_then(Value::as_str) == Some(kind));
            of_kind.filter_map(|block| block.get(key)?.as_str().map(ToOwned::to_owned)).collect()
        };
        if role == "user" {
            check_results(&mut calls, &ids("tool_result", "tool_use_id"))?;
            expected = "assistant";
        } else {
            calls = ids("tool_use", "id");
            expected = "user";
        }
    }
    check_results(&mut calls, &[])
}

fn is_deferred(tool: &Value) -> bool {
    tool.get("defer_loading") == Some(&Value::Bool(true))
}

/// Checks that each reference of a result is to a deferred tool, and that references stand alone.
fn check_references(block: &Value, tools: &[Value]) -> Result<(), String> {
    let content = list(block, "content");
    let is_reference = |part: &&Value| part.get("type").and_then(Value::as_str) == Some("tool_reference");
    let references: Vec<_> = content.iter().filter(is_reference).collect();
    if !references.is_empty() && references.len() < content.len() {
        return Err("a result holds references or other content".to_owned());
    }
    for reference in references {
        let name = reference.get("tool_name");
        if !tools.iter().any(|tool| is_deferred(tool) && tool.get("name") == name) {
            return Err(format!("the reference {name:?} is to no deferred tool"));
        }
    }
    Ok(())
}

fn check_block(block: &Value) -> Result<(), String> {
    let text = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default();
    match text("type") {
        "text" if text("text").trim().is_empty() => Err("a text has to have more than blanks".to_owned()),
        "thinking" if text("signature") != SIGNATURE => {
            Err("the signature of a thought is invalid".to_owned())
        }
        "tool_use" => {
            check_name(block.get("name").unwrap_or(&Value::Null))?;
            check_name(block.get("id").unwrap_or(&Value::Null))?;
            if block.get("input").is_some_and(Value::is_object) {
                Ok(())
            } else {
                Err("an input has to be an object".to_owned())
            }
        }
        _ => Ok(()),
    }
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
