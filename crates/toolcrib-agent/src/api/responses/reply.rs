//! Replies of the Responses API.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{CUSTOM_CALL, TOOL_SEARCH_CALL, is_call, part_text};
use crate::Provider;
use crate::api::ToolOptions;
use crate::api::assembly::{Assemble, Fault, Partial, arguments_text, text};
use crate::chat::{ChatReply, Piece, ProviderItems, REFUSAL, TextSink};

/// The text of a call of a tool that takes one.
const INPUT: &str = "input";

/// The finish reason of a reply that is complete.
const COMPLETED: &str = "stop";

/// A response that comes in events, or as a whole.
#[derive(Debug, Default)]
pub(in crate::api) struct ResponseAssembler {
    partial: Partial,
    /// The items that are complete, by their place in the output.
    items: BTreeMap<u64, Value>,
    /// The positions of calls among those of the reply, by the place of their items.
    calls: BTreeMap<u64, usize>,
    /// The wire name of the tool that searches, which has no name there.
    search: String,
    /// The arguments of tools that take a text, by the wire names of the tools.
    text_arguments: BTreeMap<String, String>,
    has_text: bool,
    is_refusal: bool,
    is_over: bool,
}

impl ResponseAssembler {
    pub(in crate::api) fn new(search: Option<&str>, tool_options: &ToolOptions) -> Self {
        let text_arguments = tool_options.text_arguments.clone();
        Self { search: search.unwrap_or_default().to_owned(), text_arguments, ..Self::default() }
    }

    /// Takes an item as it begins or as it is complete.
    fn item(&mut self, place: u64, item: &Value) -> Result<(), Fault> {
        if !is_call(item) {
            return Ok(());
        }
        let arguments = self.arguments(item);
        if let Some(&position) = self.calls.get(&place) {
            let call = self.partial.reply.tool_calls.get_mut(position);
            // Its pieces may be lacking.
            let is_longer = call.as_ref().is_some_and(|call| arguments.len() > call.arguments.len());
            if let Some(call) = call.filter(|_| is_longer) {
                call.arguments.clear();
                return self.partial.extend_call(position, &arguments);
            }
            return Ok(());
        }
        let is_search = text(item, "type") == TOOL_SEARCH_CALL;
        let name = if is_search { self.search.as_str() } else { text(item, "name") };
        let position = self.partial.begin_call(text(item, "call_id"), name)?;
        self.calls.insert(place, position);
        self.partial.extend_call(position, &arguments)
    }

    /// Returns the arguments of a call so far; a text becomes the argument of its tool.
    fn arguments(&self, item: &Value) -> String {
        if text(item, "type") != CUSTOM_CALL {
            return arguments_text(item.get("arguments"));
        }
        let argument = self.text_arguments.get(text(item, "name")).map_or(INPUT, String::as_str);
        match text(item, INPUT) {
            "" => String::new(),
            input => json!({ argument: input }).to_string(),
        }
    }

    /// Takes an item that is complete.
    fn complete_item(&mut self, place: u64, item: &Value) -> Result<(), Fault> {
        self.item(place, item)?;
        self.partial.count(item.to_string().len() / 2)?;
        self.items.insert(place, item.clone());
        Ok(())
    }

    /// Takes the response at its end, or as a whole.
    fn response(&mut self, response: &Value) -> Result<(), Fault> {
        if let Some(error) = response.get("error").filter(|error| !error.is_null()) {
            return Err(Fault::Error(error.clone()));
        }
        let output = response.get("output").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        for (item, place) in output.iter().zip(0..) {
            if !self.items.contains_key(&place) {
                self.complete_item(place, item)?;
            }
        }
        let tokens = |path: &str| response.pointer(path).and_then(Value::as_u64).unwrap_or(0);
        let usage = &mut self.partial.reply.usage;
        usage.prompt_tokens = tokens("/usage/input_tokens");
        usage.completion_tokens = tokens("/usage/output_tokens");
        usage.cached_tokens = tokens("/usage/input_tokens_details/cached_tokens");
        usage.cache_write_tokens = tokens("/usage/input_tokens_details/cache_write_tokens");
        let reason = response.pointer("/incomplete_details/reason").and_then(Value::as_str);
        self.partial.reply.finish_reason = Some(reason.unwrap_or(COMPLETED).to_owned());
        self.is_over = true;
        Ok(())
    }

    /// Takes what did not come in pieces from the items that are complete.
    fn say_whole(&mut self, sink: &mut TextSink<'_>) -> Result<(), Fault> {
        let has_reasoning = !self.partial.reply.reasoning.is_empty();
        for item in self.items.values() {
            let list = |key: &str| item.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            match text(item, "type") {
                "message" if !self.has_text => {
                    for part in list("content") {
                        self.is_refusal |= text(part, "type") == REFUSAL;
                        self.partial.say(Piece::Text(part_text(part)), sink)?;
                    }
                }
                "reasoning" if !has_reasoning => {
                    for part in list("summary") {
                        self.partial.say(Piece::Reasoning(text(part, "text")), sink)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns the items as they go back to the server, if some are more than plain text and calls.
    fn provider_items(&mut self) -> Option<ProviderItems> {
        let is_special = |item: &Value| match text(item, "type") {
            "message" => has_annotations(item),
            _ if is_call(item) => false,
            // The server keeps nothing, so that it knows no other.
            "reasoning" => !text(item, "encrypted_content").is_empty(),
            _ => true,
        };
        let items: Vec<_> = std::mem::take(&mut self.items).into_values().collect();
        if !items.iter().any(is_special) {
            return None;
        }
        let kept = items.into_iter().filter_map(|item| match text(&item, "type") {
            "message" => Some(item),
            _ if is_call(&item) => Some(json!({"type": "function_call"})),
            _ => is_special(&item).then_some(item),
        });
        let provider = Provider::OpenAiResponses.as_str().to_owned();
        Some(ProviderItems { provider, items: kept.collect() })
    }
}

/// Returns true for a message with citations, which are lost in its text.
fn has_annotations(message: &Value) -> bool {
    let parts = message.get("content").and_then(Value::as_array).into_iter().flatten();
    parts.filter_map(|part| part.get("annotations")?.as_array()).any(|annotations| !annotations.is_empty())
}

impl Assemble for ResponseAssembler {
    fn push(&mut self, piece: &Value, sink: &mut TextSink<'_>) -> Result<(), Fault> {
        if !piece.is_object() {
            return Err(Fault::NotAReply("it is not a JSON object".to_owned()));
        }
        let kind = text(piece, "type");
        let place = piece.get("output_index").and_then(Value::as_u64).unwrap_or(0);
        let part = |key: &str| piece.get(key).unwrap_or(&Value::Null);
        match kind {
            "error" => return Err(Fault::Error(piece.clone())),
            "response.output_text.delta" | "response.refusal.delta" => {
                self.has_text = true;
                self.is_refusal |= kind == "response.refusal.delta";
                self.partial.say(Piece::Text(text(piece, "delta")), sink)?;
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.partial.say(Piece::Reasoning(text(piece, "delta")), sink)?;
            }
            "response.output_item.added" => self.item(place, part("item"))?,
            "response.function_call_arguments.delta" => {
                let delta = arguments_text(piece.get("delta"));
                match self.calls.get(&place) {
                    Some(&position) => self.partial.extend_call(position, &delta)?,
                    None => self.item(place, &json!({"type": "function_call", "arguments": delta}))?,
                }
            }
            "response.output_item.done" => self.complete_item(place, part("item"))?,
            "response.completed" | "response.incomplete" | "response.failed" => {
                self.response(part("response"))?;
            }
            "" => {
                if let Some(error) = piece.get("error").filter(|error| !error.is_null()) {
                    return Err(Fault::Error(error.clone()));
                }
                if piece.get("output").is_some_and(Value::is_array) {
                    self.response(piece)?;
                }
            }
            // What is begun, and what is said again once it is complete.
            _ => {}
        }
        Ok(())
    }

    fn has_ended(&self) -> bool {
        self.is_over
    }

    fn is_over(&self) -> bool {
        self.is_over
    }

    fn finish(mut self: Box<Self>, is_marked: bool, sink: &mut TextSink<'_>) -> Result<ChatReply, Fault> {
        if !self.is_over && !is_marked {
            return Err(Fault::CUT);
        }
        if !self.is_over && self.partial.reply == ChatReply::default() {
            return Err(Fault::NotAReply("it has no `output`".to_owned()));
        }
        self.say_whole(sink)?;
        let items = self.provider_items();
        let mut reply = self.partial.reply;
        if self.is_refusal && reply.tool_calls.is_empty() {
            reply.finish_reason = Some(REFUSAL.to_owned());
        }
        reply.provider_items = items;
        Ok(reply)
    }
}
