//! From the pieces of an answer to a reply. Servers differ; what can be understood is.

use std::collections::BTreeMap;

use serde_json::Value;

use super::reasoning_tags::ReasoningTagParser;
use crate::chat::{ChatReply, Piece, REFUSAL, RequestedCall, TextSink, Usage};

/// The longest reply that is put together: text, names and arguments, in bytes. Some forty times what models write.
pub(super) const MAX_REPLY_BYTES: usize = 4 * 1024 * 1024;

/// The most calls of one reply.
pub(super) const MAX_REPLY_CALLS: usize = 128;

/// The longest arguments that are looked at to see whether another call begins, in bytes.
const MAX_CHECKED_BYTES: usize = 64 * 1024;

/// The reason why the pieces are not a reply.
#[derive(Debug)]
pub(super) enum Fault {
    /// The server sent an error instead.
    Error(Value),
    /// It is in no form that is known.
    NotAReply(String),
    /// It ended in the middle.
    Interrupted(&'static str),
    /// There is too much of it.
    TooLarge { limit: usize, unit: &'static str },
}

/// A reply that comes in pieces. A reply that comes as a whole is one piece.
#[derive(Debug, Default)]
pub(super) struct Assembler {
    reply: ChatReply,
    /// For each call the index by which later pieces refer to it.
    indexes: Vec<Option<u64>>,
    bytes: usize,
    has_choice: bool,
    is_refusal: bool,
    thought: ReasoningTagParser,
    log_probabilities: MeanLogProbability,
    /// The number of replies.
    replies: u32,
    /// The replies beyond the first, by their indexes.
    others: BTreeMap<u64, Assembler>,
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

impl Assembler {
    /// Creates an assembler of this many replies.
    pub(super) fn new(replies: u32) -> Self {
        Self { replies, ..Self::default() }
    }

    /// Takes the next piece in.
    pub(super) fn push(&mut self, piece: &Value, sink: &mut TextSink<'_>) -> Result<(), Fault> {
        let Value::Object(object) = piece else {
            return Err(Fault::NotAReply("it is not a JSON object".to_owned()));
        };
        if let Some(error) = object.get("error").filter(|error| !error.is_null()) {
            return Err(Fault::Error(error.clone()));
        }
        if let Some(usage) = object.get("usage").filter(|usage| usage.is_object()) {
            let tokens = |key: &str| usage.get(key).and_then(Value::as_u64).unwrap_or(0);
            self.reply.usage = Usage {
                prompt_tokens: tokens("prompt_tokens"),
                completion_tokens: tokens("completion_tokens"),
                // Most write it as OpenAI does, DeepSeek in its own way.
                cached_tokens: usage
                    .pointer("/prompt_tokens_details/cached_tokens")
                    .and_then(Value::as_u64)
                    .unwrap_or_else(|| tokens("prompt_cache_hit_tokens")),
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

    fn choice(&mut self, choice: &Value, sink: &mut TextSink<'_>) -> Result<(), Fault> {
        self.has_choice = true;
        self.log_probabilities.add(choice);
        if let Some(message) = choice.get("message").filter(|message| message.is_object()) {
            self.message(message, true, sink)?;
        } else if let Some(delta) = choice.get("delta") {
            self.message(delta, false, sink)?;
        }
        if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str) {
            self.reply.finish_reason = Some(reason.to_owned());
        }
        Ok(())
    }

    /// Returns true if the server gave a finish reason, so that nothing of the reply follows.
    pub(super) fn has_ended(&self) -> bool {
        self.reply.finish_reason.is_some()
    }

    /// Returns the reply, after the last piece. `is_marked` is whether the server said that it was the last.
    pub(super) fn finish(mut self, is_marked: bool, sink: &mut TextSink<'_>) -> Result<ChatReply, Fault> {
        let Self { thought, reply, .. } = &mut self;
        thought.finish(&mut |piece| keep(reply, piece, sink));
        if self.reply.finish_reason.is_none() && !is_marked {
            return Err(Fault::Interrupted("the stream ended before the reply did"));
        }
        if !self.has_choice {
            return Err(Fault::NotAReply("it has no `choices`".to_owned()));
        }
        if self.is_refusal && self.reply.tool_calls.is_empty() {
            self.reply.finish_reason = Some(REFUSAL.to_owned());
        }
        self.reply.mean_log_probability = self.log_probabilities.mean();
        let others = self.others.into_values();
        // One of several replies that is incomplete is as if it had not been given.
        self.reply.alternatives =
            others.filter_map(|other| other.finish(is_marked, &mut |_| ()).ok()).collect();
        Ok(self.reply)
    }

    fn message(&mut self, message: &Value, is_whole: bool, sink: &mut TextSink<'_>) -> Result<(), Fault> {
        // Servers that show what the model thinks give it one name or the other, or both.
        let thought = ["reasoning_content", "reasoning"].iter().find_map(|key| text_of(message.get(*key)?));
        if let Some(thought) = thought.filter(|thought| !thought.is_empty()) {
            self.count(thought.len())?;
            keep(&mut self.reply, Piece::Reasoning(&thought), sink);
        }
        for key in ["content", REFUSAL] {
            if let Some(text) = message.get(key).and_then(text_of).filter(|text| !text.is_empty()) {
                self.count(text.len())?;
                self.is_refusal |= key == REFUSAL;
                let Self { thought, reply, .. } = self;
                thought.push(&text, &mut |piece| keep(reply, piece, sink));
            }
        }
        let calls = message.get("tool_calls").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        calls.iter().try_for_each(|call| self.call(call, is_whole))
    }

    fn call(&mut self, piece: &Value, is_whole: bool) -> Result<(), Fault> {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        let function = piece.get("function");
        let id = text(piece.get("id"));
        let name = text(function.and_then(|function| function.get("name")));
        let arguments = match function.and_then(|function| function.get("arguments")) {
            Some(Value::String(arguments)) => arguments.clone(),
            None | Some(Value::Null) => String::new(),
            // Some servers send the arguments themselves.
            Some(arguments) => arguments.to_string(),
        };
        self.count(id.len() + name.len() + arguments.len())?;

        let index = piece.get("index").and_then(Value::as_u64);
        let position = if is_whole { None } else { self.continued(index, &id, &name, &arguments) };
        let Some(call) = position.and_then(|position| self.reply.tool_calls.get_mut(position)) else {
            if self.reply.tool_calls.len() == MAX_REPLY_CALLS {
                return Err(Fault::TooLarge { limit: MAX_REPLY_CALLS, unit: "calls" });
            }
            self.reply.tool_calls.push(RequestedCall { id, name, arguments, problem: None });
            self.indexes.push(index);
            return Ok(());
        };
        if call.id.is_empty() {
            call.id = id;
        }
        // A name comes in pieces, or whole with each piece.
        if call.name != name {
            call.name.push_str(&name);
        }
        call.arguments.push_str(&arguments);
        Ok(())
    }

    /// Returns the position of the call that a piece continues. Some servers give all calls one index and tell them
    /// apart by id; others give none at all, or one index and no ids, and then a call begins where the one before is
    /// complete.
    fn continued(&self, index: Option<u64>, id: &str, name: &str, arguments: &str) -> Option<usize> {
        let position = match index {
            Some(_) => self.indexes.iter().rposition(|known| *known == index)?,
            None if id.is_empty() && !name.is_empty() => return None,
            None => self.reply.tool_calls.len().checked_sub(1)?,
        };
        let known = self.reply.tool_calls.get(position)?;
        let begins = id.is_empty() && !name.is_empty() && arguments.trim_start().starts_with('{');
        if begins && is_complete(&known.arguments) {
            return None;
        }
        (id.is_empty() || known.id.is_empty() || known.id == id).then_some(position)
    }

    fn count(&mut self, bytes: usize) -> Result<(), Fault> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > MAX_REPLY_BYTES {
            return Err(Fault::TooLarge { limit: MAX_REPLY_BYTES, unit: "bytes" });
        }
        Ok(())
    }
}

/// Returns true if the arguments of a call are a complete object. Long arguments are not parsed again for each piece.
fn is_complete(arguments: &str) -> bool {
    arguments.trim_end().ends_with('}')
        && arguments.len() <= MAX_CHECKED_BYTES
        && serde_json::from_str::<serde::de::IgnoredAny>(arguments).is_ok()
}

/// Adds a piece to the reply, and passes it on.
fn keep(reply: &mut ChatReply, piece: Piece<'_>, sink: &mut TextSink<'_>) {
    match piece {
        Piece::Text(text) => reply.content.push_str(text),
        Piece::Reasoning(text) => reply.reasoning.push_str(text),
        Piece::Notice(_) => {}
    }
    sink(piece);
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
