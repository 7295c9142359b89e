//! Replies of the Messages API.

use serde_json::{Value, json};
use toolcrib_model::JsonObject;

use crate::Provider;
use crate::api::assembly::{Assemble, Fault, Partial, arguments_text, text};
use crate::chat::{ChatReply, Piece, ProviderItems, TextSink};

/// A message that comes in events, or as a whole.
#[derive(Debug, Default)]
pub(in crate::api) struct MessageAssembler {
    partial: Partial,
    blocks: Vec<PartialBlock>,
    usage: Counts,
    has_begun: bool,
    is_over: bool,
}

/// A block of the message.
#[derive(Debug, Default)]
struct PartialBlock {
    /// The index by which later events refer to it.
    index: Option<u64>,
    kind: String,
    /// As it began.
    start: JsonObject,
    /// The text so far, or the thought, or the JSON of the input of a server's tool.
    body: String,
    signature: String,
    /// The position of the call among those of the reply.
    call: Option<usize>,
}

/// The tokens that the server has counted.
#[derive(Debug, Default)]
struct Counts {
    input: u64,
    cache_writes: u64,
    cache_reads: u64,
    output: u64,
}

impl Counts {
    /// Takes the counts of an event. Each replaces the one before.
    fn take(&mut self, usage: &Value) {
        for (key, count) in [
            ("input_tokens", &mut self.input),
            ("cache_creation_input_tokens", &mut self.cache_writes),
            ("cache_read_input_tokens", &mut self.cache_reads),
            ("output_tokens", &mut self.output),
        ] {
            if let Some(tokens) = usage.get(key).and_then(Value::as_u64) {
                *count = tokens;
            }
        }
    }
}

impl PartialBlock {
    /// Returns true if the message cannot be written again from its text and its calls alone.
    fn is_special(&self) -> bool {
        match self.kind.as_str() {
            "tool_use" => false,
            "text" => {
                self.start.get("citations").and_then(Value::as_array).is_some_and(|list| !list.is_empty())
            }
            "thinking" => !self.signature.is_empty(),
            _ => true,
        }
    }

    /// Returns the block as it goes back to the server. A thought without a signature does not.
    fn item(self) -> Option<Value> {
        let Self { kind, start: mut item, body, signature, .. } = self;
        match kind.as_str() {
            "tool_use" => return Some(json!({"type": kind})),
            "thinking" if signature.is_empty() => return None,
            "thinking" => {
                item.insert("thinking".into(), body.into());
                item.insert("signature".into(), signature.into());
            }
            "text" => {
                item.insert("text".into(), body.into());
            }
            _ => {
                if let Ok(input) = serde_json::from_str::<Value>(&body) {
                    item.insert("input".into(), input);
                }
            }
        }
        Some(Value::Object(item))
    }
}

impl MessageAssembler {
    fn begin(&mut self, index: Option<u64>, block: &Value, sink: &mut TextSink<'_>) -> Result<(), Fault> {
        let Value::Object(start) = block else { return Ok(()) };
        let kind = text(block, "type").to_owned();
        let mut begun = PartialBlock { index, start: start.clone(), ..PartialBlock::default() };
        match kind.as_str() {
            "tool_use" => begun.call = Some(self.partial.begin_call(text(block, "id"), text(block, "name"))?),
            "text" => {
                text(block, "text").clone_into(&mut begun.body);
                self.partial.say(Piece::Text(&begun.body), sink)?;
            }
            "thinking" => {
                text(block, "thinking").clone_into(&mut begun.body);
                text(block, "signature").clone_into(&mut begun.signature);
                self.partial.count(begun.signature.len())?;
                self.partial.say(Piece::Reasoning(&begun.body), sink)?;
            }
            _ => self.partial.count(block.to_string().len())?,
        }
        begun.kind = kind;
        self.blocks.push(begun);
        Ok(())
    }

    fn delta(&mut self, index: Option<u64>, delta: &Value, sink: &mut TextSink<'_>) -> Result<(), Fault> {
        let kind = text(delta, "type");
        let known = self.blocks.iter().rposition(|block| block.index == index);
        let position = if let Some(position) = known {
            position
        } else {
            // Some servers do not say that a block begins.
            let kind = match kind {
                "thinking_delta" | "signature_delta" => "thinking",
                "input_json_delta" => "tool_use",
                _ => "text",
            };
            self.begin(index, &json!({"type": kind}), sink)?;
            self.blocks.len().saturating_sub(1)
        };
        let Some(block) = self.blocks.get_mut(position) else { return Ok(()) };
        match kind {
            "text_delta" => {
                let part = text(delta, "text");
                self.partial.say(Piece::Text(part), sink)?;
                block.body.push_str(part);
            }
            "thinking_delta" => {
                let part = text(delta, "thinking");
                self.partial.say(Piece::Reasoning(part), sink)?;
                block.body.push_str(part);
            }
            "signature_delta" => {
                let part = text(delta, "signature");
                self.partial.count(part.len())?;
                block.signature.push_str(part);
            }
            "input_json_delta" => {
                let part = arguments_text(delta.get("partial_json"));
                if let Some(call) = block.call {
                    self.partial.extend_call(call, &part)?;
                } else {
                    self.partial.count(part.len())?;
                    block.body.push_str(&part);
                }
            }
            "citations_delta" => {
                let citation = delta.get("citation").cloned().unwrap_or_default();
                self.partial.count(citation.to_string().len())?;
                let list = block.start.entry("citations").or_insert_with(|| json!([]));
                if let Value::Array(list) = list {
                    list.push(citation);
                } else {
                    *list = json!([citation]);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Takes a message, or what is known of it when it begins.
    fn message(&mut self, message: &Value, sink: &mut TextSink<'_>) -> Result<(), Fault> {
        self.ended(message);
        let Some(blocks) = message.get("content").and_then(Value::as_array) else { return Ok(()) };
        self.has_begun = true;
        blocks.iter().zip(0..).try_for_each(|(block, index)| self.begin(Some(index), block, sink))
    }

    /// Takes the stop reason and the usage.
    fn ended(&mut self, message: &Value) {
        if let Some(reason) = message.get("stop_reason").and_then(Value::as_str) {
            self.partial.reply.finish_reason = Some(reason.to_owned());
        }
        if let Some(usage) = message.get("usage") {
            self.usage.take(usage);
        }
    }
}

impl Assemble for MessageAssembler {
    fn push(&mut self, piece: &Value, sink: &mut TextSink<'_>) -> Result<(), Fault> {
        if !piece.is_object() {
            return Err(Fault::NotAReply("it is not a JSON object".to_owned()));
        }
        if let Some(error) = piece.get("error").filter(|error| !error.is_null()) {
            return Err(Fault::Error(error.clone()));
        }
        let index = piece.get("index").and_then(Value::as_u64);
        let part = |key: &str| piece.get(key).unwrap_or(&Value::Null);
        match text(piece, "type") {
            "message_start" => self.message(part("message"), sink)?,
            "content_block_start" => {
                self.has_begun = true;
                self.begin(index, part("content_block"), sink)?;
            }
            "content_block_delta" => {
                self.has_begun = true;
                self.delta(index, part("delta"), sink)?;
            }
            "message_delta" => {
                self.ended(part("delta"));
                self.usage.take(part("usage"));
            }
            "message_stop" => self.is_over = true,
            // Signs of life, and what is not known yet.
            "ping" | "content_block_stop" => {}
            _ => self.message(piece, sink)?,
        }
        Ok(())
    }

    fn has_ended(&self) -> bool {
        self.is_over || self.partial.reply.finish_reason.is_some()
    }

    fn is_over(&self) -> bool {
        self.is_over
    }

    fn finish(mut self: Box<Self>, is_marked: bool, _: &mut TextSink<'_>) -> Result<ChatReply, Fault> {
        if !self.has_ended() && !is_marked {
            return Err(Fault::CUT);
        }
        if !self.has_begun {
            return Err(Fault::NotAReply("it has no `content`".to_owned()));
        }
        for block in &self.blocks {
            // An input that came with the beginning of its block.
            let Some(call) = block.call else { continue };
            let is_empty =
                self.partial.reply.tool_calls.get(call).is_some_and(|call| call.arguments.is_empty());
            let input = block.start.get("input").filter(|input| **input != json!({}));
            if is_empty {
                self.partial.extend_call(call, &arguments_text(input))?;
            }
        }
        let Counts { input, cache_writes, cache_reads, output } = self.usage;
        let mut reply = self.partial.reply;
        reply.usage.prompt_tokens = input.saturating_add(cache_writes).saturating_add(cache_reads);
        reply.usage.cached_tokens = cache_reads;
        reply.usage.cache_write_tokens = cache_writes;
        reply.usage.completion_tokens = output;
        if self.blocks.iter().any(PartialBlock::is_special) {
            let items = self.blocks.into_iter().filter_map(PartialBlock::item).collect();
            reply.provider_items =
                Some(ProviderItems { provider: Provider::Anthropic.as_str().to_owned(), items });
        }
        Ok(reply)
    }
}
