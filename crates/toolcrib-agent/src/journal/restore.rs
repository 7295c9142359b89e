//! From what was kept back to where a run was.

use toolcrib_model::Amount;

use super::Entry;
use crate::agent::extend_last;
use crate::chat::{Picture, RequestedCall, Usage};
use crate::{Conversation, Message};

/// A run that did not end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OpenRun {
    pub(crate) prompt: String,
    /// The index of the message with the prompt.
    pub(crate) prompt_at: usize,
    pub(crate) turns: u32,
    pub(crate) executed: u32,
    pub(crate) usage: Usage,
    /// The amount that the runs below spent.
    pub(crate) below: Amount,
    /// True if the last reply was empty.
    pub(crate) was_empty: bool,
    /// The calls of the replies before, of which the limits know.
    pub(crate) past: Vec<OpenCall>,
    /// The calls of the last reply whose results are not in the conversation.
    pub(crate) calls: Vec<OpenCall>,
}

/// A call of a run that did not end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OpenCall {
    pub(crate) call: RequestedCall,
    pub(crate) has_begun: bool,
    pub(crate) answer: Option<Answer>,
}

/// The result of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) ok: bool,
    pub(crate) text: String,
    pub(crate) note: String,
    pub(crate) loads: Vec<String>,
    pub(crate) pictures: Vec<Picture>,
}

impl OpenRun {
    /// Drops the calls of the last reply, which are in the conversation now.
    fn settle(&mut self) {
        for mut call in self.calls.drain(..) {
            if let Some(answer) = &mut call.answer {
                *answer = Answer { ok: answer.ok, ..Answer::default() };
            }
            self.past.push(call);
        }
    }
}

impl Conversation {
    /// Returns the conversation of these entries, and where its last run was if it did not [end](Entry::Ended). What
    /// else has been lost of it is repaired as in [`from_messages`](Self::from_messages).
    pub fn restore(entries: impl IntoIterator<Item = Entry>) -> Self {
        let mut messages: Vec<Message> = Vec::new();
        let mut open: Option<OpenRun> = None;
        for entry in entries {
            // Without a beginning, as in a file whose head is gone, there is no run to go on with.
            match (entry, &mut open) {
                (Entry::Began { prompt }, _) => {
                    let prompt_at = messages.len();
                    open = Some(OpenRun { prompt, prompt_at, ..OpenRun::default() });
                }
                (Entry::Said { messages: said }, run) => {
                    // The calls of a run that was given up are answered behind its end.
                    let results = said.iter().take_while(|message| !matches!(message, Message::User { .. }));
                    let behind = results.count();
                    let is_first = run.as_ref().is_some_and(|run| run.prompt_at == messages.len());
                    if let Some(run) = run {
                        run.settle();
                        run.prompt_at += if is_first { behind } else { 0 };
                    }
                    messages.extend(said);
                }
                (Entry::Noted { text }, _) => {
                    // If the message that it was appended to is lost, it becomes a message.
                    if !extend_last(&mut messages, &text) {
                        messages.push(Message::user(text));
                    }
                }
                (Entry::Replied { message, calls, usage, .. }, run) => {
                    messages.push(message);
                    if let Some(run) = run {
                        run.turns += 1;
                        run.usage += usage;
                        run.was_empty = false;
                        run.settle();
                        let calls = calls.into_iter();
                        run.calls = calls.map(|call| OpenCall { call, ..OpenCall::default() }).collect();
                    }
                }
                (Entry::Begun { call_id }, Some(run)) => {
                    run.executed += 1;
                    if let Some(open) = run.calls.iter_mut().find(|open| open.call.id == call_id) {
                        open.has_begun = true;
                    }
                }
                (Entry::Finished { call_id, ok, answer: text, note, loads, pictures, .. }, Some(run)) => {
                    if let Some(open) = run.calls.iter_mut().find(|open| open.call.id == call_id) {
                        open.answer = Some(Answer { ok, text, note, loads, pictures });
                    }
                }
                (Entry::Compacted { messages: all, prompt_at, usage }, run) => {
                    messages = all;
                    if let Some(run) = run {
                        run.prompt_at = prompt_at;
                        run.usage += usage;
                    }
                }
                (Entry::SaidNothing { usage }, Some(run)) => {
                    run.turns += 1;
                    run.usage += usage;
                    run.was_empty = true;
                }
                (Entry::SpentBelow { spent }, Some(run)) => run.below = run.below.and(spent.into()),
                (Entry::Ended, run) => *run = None,
                (Entry::Noticed { .. }, _)
                | (
                    Entry::Begun { .. }
                    | Entry::Finished { .. }
                    | Entry::SaidNothing { .. }
                    | Entry::SpentBelow { .. },
                    None,
                ) => {}
            }
        }
        Self::restored(messages, open)
    }
}
