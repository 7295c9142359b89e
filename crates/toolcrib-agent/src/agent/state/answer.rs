//! The end of a run: its answer, the continuation where that was cut off, and its schema.

use serde_json::Value;
use toolcrib_schema::Repair;

use super::super::report::{Outcome, RunReport};
use super::super::runtime_notes;
use super::{Action, RunState};
use crate::Message;
use crate::chat::OutputValue;
use crate::journal::Entry;

/// The answer so far.
#[derive(Debug, Default)]
pub(super) struct AnswerState {
    /// The number of times that the model was asked to continue.
    continuations: u32,
    /// True if the next message continues the last one.
    is_continued: bool,
    /// True if the model was asked for an answer that conforms to the schema.
    is_repair: bool,
    output: Option<OutputValue>,
}

impl AnswerState {
    /// Returns true if the model is to answer as before, in another form.
    pub(super) fn is_repair(&self) -> bool {
        self.is_repair
    }

    /// Lets an answer of an earlier run that does not conform to the schema be as it is.
    pub(super) fn settle(&mut self, is_over: bool) {
        self.is_repair |= is_over;
    }

    /// Takes note of a message with calls: what follows is another message.
    pub(super) fn interrupted(&mut self) {
        self.is_continued = false;
    }

    /// Takes the value that conforms to the schema, and the changes by which it does.
    pub(super) fn take_output(&mut self) -> (Option<Value>, Vec<Repair>) {
        let (value, repairs) = self.output.take().map(|output| (output.value, output.repairs)).unzip();
        (value, repairs.unwrap_or_default())
    }
}

impl RunState<'_> {
    /// Takes in the text of a message.
    pub(super) fn said(&mut self, content: &str) {
        if std::mem::take(&mut self.answer.is_continued) {
            self.text.push_str(content);
        } else if !content.is_empty() {
            content.clone_into(&mut self.text);
        }
    }

    /// Ends the run with the answer, unless the model is asked to continue it, or for one that conforms to the schema.
    /// `early` is the outcome of a message that is not whole.
    pub(super) fn answered(&mut self, early: Option<Outcome>, finish_reason: Option<&str>) -> Action {
        let is_open = self.ending.is_none();
        let may_continue = is_open
            && Outcome::is_length_limit(finish_reason)
            && self.answer.continuations < self.settings.limits.max_continuations;
        if may_continue {
            self.answer.continuations += 1;
            self.answer.is_continued = true;
            self.notes.push(runtime_notes::CONTINUE.to_owned());
            self.notices.push("the answer was cut off; asking the model to continue it".to_owned());
            return self.next();
        }
        if early.is_none()
            && let Some(schema) = &self.settings.output_schema
        {
            // A server that enforces the schema begins a continuation with a new value.
            let last = self.conversation.messages().last().map(Message::content).unwrap_or_default();
            let read = schema.read(&self.text).or_else(|problem| match schema.read(last) {
                Ok(output) => {
                    last.clone_into(&mut self.text);
                    Ok(output)
                }
                Err(_) => Err(problem),
            });
            match read {
                Ok(output) => self.answer.output = Some(output),
                Err(problem) if is_open && !self.answer.is_repair => {
                    self.answer.is_repair = true;
                    self.notes.push(runtime_notes::invalid_output(&problem.to_string()));
                    self.notices.push(format!(
                        "the answer does not conform to the output schema: {problem}; asking the model again"
                    ));
                    return self.next();
                }
                Err(problem) => {
                    self.ending.get_or_insert(Outcome::InvalidOutput { problem: problem.to_string() });
                }
            }
        }
        self.ending.get_or_insert(early.unwrap_or(Outcome::Completed));
        self.next()
    }

    /// Ends the run with its report.
    pub(super) fn end(&mut self) -> Action {
        self.keep_new();
        let outcome = self.ending.take().unwrap_or(Outcome::Completed);
        let (output, output_repairs) = self.answer.take_output();
        let limit_of_caller = matches!(outcome, Outcome::LimitReached { limit } if self.is_of_caller(limit));
        // What failed may be gone on with.
        if !matches!(outcome, Outcome::Failed { .. }) {
            self.entries.push(Entry::Ended);
        }
        Action::End(Box::new(RunReport {
            outcome,
            text: std::mem::take(&mut self.text),
            output,
            output_repairs,
            turns: self.turns,
            calls: std::mem::take(&mut self.calls).into(),
            calls_left_out: self.calls_left_out,
            usage: self.usage,
            spent_below: self.spent_below().into(),
            limit_of_caller,
            models: std::mem::take(&mut self.models),
            notices: Vec::new(),
            compactions: self.compactions,
        }))
    }
}
