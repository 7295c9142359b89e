//! Replies of the Chat Completions API.

use std::collections::BTreeMap;

use serde_json::Value;

use super::reasoning_tags::ReasoningTagParser;
use crate::api::assembly::{Assemble, Fault, Partial, arguments_text, keep, text};
use crate::chat::{ChatReply, Piece, REFUSAL, TextSink, Usage};

/// The longest arguments that are looked at to see whether another call begins, in bytes.
const MAX_CHECKED_BYTES: usize = 64 * 1024;

/// A reply that comes in pieces. A reply that comes as a whole is one piece.
#[derive(Debug, Default)]
pub(in crate::api) struct CompletionAssembler {
    partial: Partial,
    /// For each call the index by which later pieces refer to it.
    indexes: Vec<Option<u64>>,
    has_choice: bool,
    is_refusal: bool,
    thought: ReasoningTagParser,
    log_probabilities: MeanLogProbability,
    /// The number of replies.
    replies: u32,
    /// The replies beyond the first, by their indexes.
    others: BTreeMap<u64, CompletionAssembler>,
}

/// The mean of the log-probabilities of tokens.
#[derive(Debug, Default)]
struct MeanLogProbability {
    sum: f64,
    tokens: u32,
}

impl MeanLogProbability {
    /// Adds the tokens of a choice, if it has log-probabilities.
    fn add(&mut self, choice: &Value) {
        let tokens = choice.pointer("/logprobs/content").and_then(Value::as_array).into_iter().flatten();
        for logprob in tokens.filter_map(|token| token.get("logprob")?.as_f64()) {
            self.sum += logprob;
            self.tokens = self.tokens.saturating_add(1);
        }
    }

    fn mean(&self) -> Option<f64> {
        (self.tokens > 0).then(|| self.sum / f64::from(self.tokens))
    }
}

impl CompletionAssembler {
    /// Creates an assembler of this many replies.
    pub(in crate::api) fn new(replies: u32) -> Self {
        Self { replies, ..Self::default() }
    }

    fn choice(&mut self, choice: &Value, sink: &mut TextSink<'_>) -> Result<(), Fault> {
        self.has_choice = true;
        self.log_probabilities.add(choice);
        if let Some(message) = choice.get("message").filter(|message| message.is_object()) {
            self.message(message, true, sink)?;
        } else if let Some(delta) = choice.get("delta") {
            self.message(delta, false, sink)?;
        }
        if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str) {
            self.partial.reply.finish_reason = Some(reason.to_owned());
        }
        Ok(())
    }

    fn finished(mut self, is_marked: bool, sink: &mut TextSink<'_>) -> Result<ChatReply, Fault> {
        let mut reply = self.partial.reply;
        self.thought.finish(&mut |piece| keep(&mut reply, piece, sink));
        if reply.finish_reason.is_none() && !is_marked {
            return Err(Fault::CUT);
        }
        if !self.has_choice {
            return Err(Fault::NotAReply("it has no `choices`".to_owned()));
        }
        if self.is_refusal && reply.tool_calls.is_empty() {
            reply.finish_reason = Some(REFUSAL.to_owned());
        }
        reply.mean_log_probability = self.log_probabilities.mean();
        let others = self.others.into_values();
        // One of several replies that is incomplete is as if it had not been given.
        reply.alternatives = others.filter_map(|other| other.finished(is_marked, &mut |_| ()).ok()).collect();
        Ok(reply)
    }

    fn message(&mut self, message: &Value, is_whole: bool, sink: &mut TextSink<'_>) -> Result<(), Fault> {
        // Servers that show what the model thinks give it one name or the other, or both.
        let thought = ["reasoning_content", "reasoning"].iter().find_map(|key| text_of(message.get(*key)?));
        self.partial.say(Piece::Reasoning(&thought.unwrap_or_default()), sink)?;
        for key in ["content", REFUSAL] {
            if let Some(text) = message.get(key).and_then(text_of).filter(|text| !text.is_empty()) {
                self.partial.count(text.len())?;
                self.is_refusal |= key == REFUSAL;
                let reply = &mut self.partial.reply;
                self.thought.push(&text, &mut |piece| keep(reply, piece, sink));
            }
        }
        let calls = message.get("tool_calls").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        calls.iter().try_for_each(|call| self.call(call, is_whole))
    }

    fn call(&mut self, piece: &Value, is_whole: bool) -> Result<(), Fault> {
        let function = piece.get("function").unwrap_or(&Value::Null);
        let (id, name) = (text(piece, "id"), text(function, "name"));
        let arguments = arguments_text(function.get("arguments"));
        let index = piece.get("index").and_then(Value::as_u64);
        let continued = if is_whole { None } else { self.continued(index, id, name, &arguments) };
        let Some(position) = continued else {
            let position = self.partial.begin_call(id, name)?;
            self.indexes.push(index);
            return self.partial.extend_call(position, &arguments);
        };
        self.partial.count(id.len() + name.len())?;
        if let Some(call) = self.partial.reply.tool_calls.get_mut(position) {
            if call.id.is_empty() {
                id.clone_into(&mut call.id);
            }
            // A name comes in pieces, or whole with each piece.
            if call.name != name {
                call.name.push_str(name);
            }
        }
        self.partial.extend_call(position, &arguments)
    }

    /// Returns the position of the call that a piece continues. Some servers give all calls one index and tell them
    /// apart by id; others give none at all, or one index and no ids, and then a call begins where the one before is
    /// complete.
    fn continued(&self, index: Option<u64>, id: &str, name: &str, arguments: &str) -> Option<usize> {
        let calls = &self.partial.reply.tool_calls;
        let position = match index {
            Some(_) => self.indexes.iter().rposition(|known| *known == index)?,
            None if id.is_empty() && !name.is_empty() => return None,
            None => calls.len().checked_sub(1)?,
        };
        let known = calls.get(position)?;
        let begins = id.is_empty() && !name.is_empty() && arguments.trim_start().starts_with('{');
        if begins && is_complete(&known.arguments) {
            return None;
        }
        (id.is_empty() || known.id.is_empty() || known.id == id).then_some(position)
    }
}

impl Assemble for CompletionAssembler {
    fn push(&mut self, piece: &Value, sink: &mut TextSink<'_>) -> Result<(), Fault> {
        let Value::Object(object) = piece else {
            return Err(Fault::NotAReply("it is not a JSON object".to_owned()));
        };
        if let Some(error) = object.get("error").filter(|error| !error.is_null()) {
            return Err(Fault::Error(error.clone()));
        }
        if let Some(usage) = object.get("usage").filter(|usage| usage.is_object()) {
            let tokens = |key: &str| usage.get(key).and_then(Value::as_u64).unwrap_or(0);
            self.partial.reply.usage = Usage {
                prompt_tokens: tokens("prompt_tokens"),
                completion_tokens: tokens("completion_tokens"),
                // Most write it as OpenAI does, DeepSeek in its own way.
                cached_tokens: usage
                    .pointer("/prompt_tokens_details/cached_tokens")
                    .and_then(Value::as_u64)
                    .unwrap_or_else(|| tokens("prompt_cache_hit_tokens")),
                cache_write_tokens: usage
                    .pointer("/prompt_tokens_details/cache_write_tokens")
                    .and_then(Value::as_u64)
                    .unwrap_or_default(),
                cost: 0,
            };
        }
        let choices = object.get("choices").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        for choice in choices {
            match choice.get("index").and_then(Value::as_u64).unwrap_or(0) {
                0 => self.choice(choice, sink)?,
                other if other < self.replies.into() => {
                    self.others.entry(other).or_default().choice(choice, &mut |_| ())?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns true if the server gave a finish reason.
    fn has_ended(&self) -> bool {
        self.partial.reply.finish_reason.is_some()
    }

    fn finish(self: Box<Self>, is_marked: bool, sink: &mut TextSink<'_>) -> Result<ChatReply, Fault> {
        self.finished(is_marked, sink)
    }
}

/// Returns true if the arguments of a call are a complete object. Long arguments are not parsed again for each piece.
fn is_complete(arguments: &str) -> bool {
    arguments.trim_end().ends_with('}')
        && arguments.len() <= MAX_CHECKED_BYTES
        && serde_json::from_str::<serde::de::IgnoredAny>(arguments).is_ok()
}

/// Returns the text of a content: a string, or a list of parts of which some are text.
fn text_of(content: &Value) -> Option<String> {
    match content {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => {
            Some(parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str)).collect())
        }
        _ => None,
    }
}
