//! Making room in the conversation, step by step.

use super::super::limits::Limit;
use super::super::room::{
    Fold, Stage, fold, folded, last_turn, put_in_place, results, size, summary_request, without_pictures,
};
use super::{Action, RunState};
use crate::session::Entry;
use crate::{Error, Usage};

/// What is being made smaller.
#[derive(Debug, Default)]
pub(super) struct Shortening {
    /// The results that are being kept elsewhere.
    puts: Vec<usize>,
    /// Where the conversation is cut for a summary.
    fold: Option<Fold>,
    /// Whether it has become smaller since the model was asked.
    is_smaller: bool,
}

impl RunState<'_> {
    /// Asks the model, or makes room first.
    pub(super) fn ask(&mut self) -> Action {
        if self.size() > self.room.allowed()
            && let Some(action) = self.make_room()
        {
            return action;
        }
        self.go()
    }

    fn go(&mut self) -> Action {
        if self.shortening.is_smaller {
            self.compactions += 1;
        }
        self.shortening = Shortening::default();
        if self.room.is_hopeless(self.size()) {
            return self.give_in();
        }
        self.room.stage = Stage::default();
        self.room.asked = self.size();
        self.sent_before = self.sent;
        self.sent = self.conversation.messages().len();
        self.turns += 1;
        Action::Ask
    }

    /// The model was not asked after all.
    pub(super) fn take_back(&mut self) {
        self.sent = self.sent_before;
        self.turns = self.turns.saturating_sub(1);
    }

    /// The server says that the request was too long.
    pub(super) fn overflowed(&mut self, error: &Error) -> Action {
        tracing::warn!(%error, "the conversation is too long for the model, making room");
        // It was no turn.
        self.turns = self.turns.saturating_sub(1);
        if !self.room.overflowed() {
            return self.give_in();
        }
        match self.make_room() {
            Some(action) => action,
            None => self.go(),
        }
    }

    /// There is no way to go on.
    fn give_in(&mut self) -> Action {
        self.reach(Limit::ContextOverflow);
        // The last answer would be refused as well.
        self.is_last_answer = true;
        self.end()
    }

    fn size(&self) -> usize {
        self.fixed + size(self.conversation.messages())
    }

    /// The next step by which room is made, if there is one.
    fn make_room(&mut self) -> Option<Action> {
        loop {
            let excess = self.size().saturating_sub(self.room.goal());
            let messages = self.conversation.messages();
            match self.room.stage {
                Stage::OldResults => {
                    self.room.stage = Stage::Summary;
                    let before = last_turn(messages);
                    let mut messages = messages.to_vec();
                    if without_pictures(&mut messages, before) > 0 {
                        self.shortened(messages, Usage::default());
                    }
                    if let Some(action) = self.put(before, excess) {
                        return Some(action);
                    }
                }
                Stage::Summary => {
                    self.room.stage = Stage::LastResults;
                    let room = self.room.goal().saturating_sub(self.fixed);
                    if let Some(fold) = fold(messages, room / 2) {
                        let older = messages.get(..fold.tail).unwrap_or_default();
                        let request = summary_request(older, room);
                        self.shortening.fold = Some(fold);
                        return Some(Action::Summarize(request));
                    }
                }
                Stage::LastResults => {
                    self.room.stage = Stage::Spent;
                    let all = messages.len();
                    // The model has asked for them: they stay where there is any room.
                    let excess = self.size().saturating_sub(self.room.allowed());
                    if let Some(action) = self.put(all, excess) {
                        return Some(action);
                    }
                }
                Stage::Spent => return None,
            }
        }
    }

    fn put(&mut self, before: usize, excess: usize) -> Option<Action> {
        let puts = results(self.conversation.messages(), before, excess);
        self.shortening.puts = puts.iter().map(|put| put.position).collect();
        (!puts.is_empty()).then_some(Action::Keep(puts))
    }

    /// Leaves the beginnings of results that are kept elsewhere, or nowhere.
    pub(super) fn put_aside(&mut self, hints: &[Option<String>]) -> Action {
        let mut hints = hints.iter();
        for position in std::mem::take(&mut self.shortening.puts) {
            let hint = hints.next().and_then(Option::as_deref);
            if let Some(message) = self.conversation.get_mut(position) {
                put_in_place(message, hint);
            }
        }
        let messages = self.conversation.messages().to_vec();
        self.shortened(messages, Usage::default());
        self.on()
    }

    /// There is no summary yet, where one was asked for. It is asked for again when the model is.
    pub(super) fn unfold(&mut self) -> bool {
        let is_folding = self.shortening.fold.take().is_some();
        if is_folding {
            self.room.stage = Stage::default();
        }
        is_folding
    }

    /// Puts a summary, or a note, in the place of the older part.
    pub(super) fn fold(&mut self, summary: Option<&str>, usage: Usage) -> Action {
        self.charge(usage);
        if let Some(fold) = self.shortening.fold.take() {
            let messages = self.conversation.messages();
            let prompt = (self.prompt_at < fold.tail).then_some(self.prompt.as_str());
            let summary = summary.filter(|summary| !summary.trim().is_empty());
            let all = folded(messages, fold, summary, prompt);
            let dropped = messages.len().saturating_sub(all.len());
            self.prompt_at = self.prompt_at.saturating_sub(dropped);
            self.shortened(all, usage);
        }
        self.on()
    }

    /// Goes on, with more room or to make more.
    fn on(&mut self) -> Action {
        if self.size() > self.room.goal()
            && let Some(action) = self.make_room()
        {
            return action;
        }
        self.go()
    }

    fn shortened(&mut self, messages: Vec<crate::Message>, usage: Usage) {
        self.shortening.is_smaller = true;
        self.kept = messages.len();
        self.entries.push(Entry::Compacted { messages: messages.clone(), prompt_at: self.prompt_at, usage });
        self.conversation.replace(messages);
    }
}
