//! Replies of `generateContent`.

use serde_json::{Value, json};

use super::{SIGNATURE, is_thought};
use crate::Provider;
use crate::api::assembly::{Assemble, Fault, Partial, arguments_text, text};
use crate::chat::{ChatReply, Piece, ProviderItems, TextSink};

/// The finish reasons of a reply that holds a call which the server could not read.
const UNREADABLE_CALLS: [&str; 2] = ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"];

/// The finish reason of a prompt that the server's filter stopped.
const CONTENT_FILTER: &str = "content_filter";

/// A reply that comes in pieces of one form, or in one.
#[derive(Debug, Default)]
pub(in crate::api) struct CandidateAssembler {
    partial: Partial,
    /// The parts as they go back to the server.
    items: Vec<Value>,
    has_candidate: bool,
    /// The explanation of the finish reason.
    finish_message: String,
}

impl CandidateAssembler {
    fn candidate(&mut self, candidate: &Value, sink: &mut TextSink<'_>) -> Result<(), Fault> {
        self.has_candidate = true;
        let parts = candidate.pointer("/content/parts").and_then(Value::as_array);
        for part in parts.map_or(&[][..], Vec::as_slice) {
            self.part(part, sink)?;
        }
        text(candidate, "finishMessage").clone_into(&mut self.finish_message);
        if let Some(reason) = candidate.get("finishReason").and_then(Value::as_str) {
            self.partial.reply.finish_reason = Some(reason.to_owned());
        }
        Ok(())
    }

    fn part(&mut self, part: &Value, sink: &mut TextSink<'_>) -> Result<(), Fault> {
        if let Some(call) = part.get("functionCall") {
            let position = self.partial.begin_call(text(call, "id"), text(call, "name"))?;
            self.partial.extend_call(position, &arguments_text(call.get("args")))?;
            let mut item = json!({"functionCall": {}});
            if let (Value::Object(item), Some(signature)) = (&mut item, part.get(SIGNATURE)) {
                self.partial.count(signature.to_string().len())?;
                item.insert(SIGNATURE.to_owned(), signature.clone());
            }
            self.items.push(item);
            return Ok(());
        }
        let said = text(part, "text");
        let is_thought = is_thought(part);
        self.partial.say(if is_thought { Piece::Reasoning(said) } else { Piece::Text(said) }, sink)?;
        let is_signed = part.get(SIGNATURE).is_some();
        if is_thought && !is_signed {
            return Ok(());
        }
        let is_text = |part: &Value| part.as_object().is_some_and(|part| part.keys().eq(["text"]));
        match self.items.last_mut() {
            // Pieces of one text, up to where it is signed.
            Some(last) if is_text(last) && is_text(part) => {
                if let Some(Value::String(whole)) = last.get_mut("text") {
                    whole.push_str(said);
                }
            }
            _ => {
                self.partial.count(part.to_string().len().saturating_sub(said.len()))?;
                self.items.push(part.clone());
            }
        }
        Ok(())
    }
}

impl Assemble for CandidateAssembler {
    fn push(&mut self, piece: &Value, sink: &mut TextSink<'_>) -> Result<(), Fault> {
        if !piece.is_object() {
            return Err(Fault::NotAReply("it is not a JSON object".to_owned()));
        }
        if let Some(error) = piece.get("error").filter(|error| !error.is_null()) {
            return Err(Fault::Error(error.clone()));
        }
        if let Some(counts) = piece.get("usageMetadata").filter(|counts| counts.is_object()) {
            let tokens = |key: &str| counts.get(key).and_then(Value::as_u64).unwrap_or(0);
            let usage = &mut self.partial.reply.usage;
            usage.prompt_tokens =
                tokens("promptTokenCount").saturating_add(tokens("toolUsePromptTokenCount"));
            usage.completion_tokens =
                tokens("candidatesTokenCount").saturating_add(tokens("thoughtsTokenCount"));
            usage.cached_tokens = tokens("cachedContentTokenCount");
        }
        // A prompt that a filter stopped has no candidate.
        if piece.pointer("/promptFeedback/blockReason").is_some_and(Value::is_string) {
            self.has_candidate = true;
            self.partial.reply.finish_reason = Some(CONTENT_FILTER.to_owned());
        }
        let candidates = piece.get("candidates").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let is_first = |candidate: &&Value| candidate.get("index").and_then(Value::as_u64).unwrap_or(0) == 0;
        match candidates.iter().find(is_first) {
            Some(candidate) => self.candidate(candidate, sink),
            None => Ok(()),
        }
    }

    fn has_ended(&self) -> bool {
        self.partial.reply.finish_reason.is_some()
    }

    fn finish(mut self: Box<Self>, is_marked: bool, _: &mut TextSink<'_>) -> Result<ChatReply, Fault> {
        if !self.has_ended() && !is_marked {
            return Err(Fault::CUT);
        }
        if !self.has_candidate {
            return Err(Fault::NotAReply("it has no `candidates`".to_owned()));
        }
        let reason = self.partial.reply.finish_reason.as_deref().unwrap_or_default();
        if UNREADABLE_CALLS.contains(&reason) {
            // The model learns of it as of any call that cannot be read.
            let problem = format!("the server could not read it ({reason})");
            let position = self.partial.begin_call("", "")?;
            let written = std::mem::take(&mut self.finish_message);
            self.partial.extend_call(position, &written)?;
            if let Some(call) = self.partial.reply.tool_calls.get_mut(position) {
                call.problem = Some(problem);
            }
            self.items.push(json!({"functionCall": {}}));
        }
        let mut reply = self.partial.reply;
        let is_special = |part: &Value| {
            part.get("functionCall").is_none() && part.get("text").is_none() || part.get(SIGNATURE).is_some()
        };
        if self.items.iter().any(is_special) {
            let provider = Provider::Gemini.as_str().to_owned();
            reply.provider_items = Some(ProviderItems { provider, items: self.items });
        }
        Ok(reply)
    }
}
