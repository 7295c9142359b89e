//! Compaction of the conversation, step by step.

use super::super::compaction::{
    SplitPoint, Stage, last_turn, offload, results, split_point, summary_request, with_summary,
    without_pictures,
};
use super::super::limits::Limit;
use super::{Action, RunState};
use crate::Error;
use crate::chat::Usage;
use crate::journal::Entry;

/// The compaction in progress.
#[derive(Debug, Default)]
pub(super) struct Compaction {
    /// The results that are being kept elsewhere.
    offloaded: Vec<usize>,
    /// The point at which the conversation is split for a summary.
    split_point: Option<SplitPoint>,
    /// True if the conversation has become smaller since the model was asked.
    is_smaller: bool,
}

impl RunState<'_> {
    /// Asks the model, or compacts the conversation first.
    pub(super) fn ask(&mut self) -> Action {
        if self.size() > self.size_limit.allowed()
            && let Some(action) = self.compact()
        {
            return action;
        }
        self.go()
    }

    fn go(&mut self) -> Action {
        if self.shortening.is_smaller {
            self.compactions += 1;
        }
        self.shortening = Compaction::default();
        if self.size_limit.is_hopeless(self.size()) {
            return self.give_in();
        }
        self.size_limit.stage = Stage::default();
        self.size_limit.asked = self.size();
        self.sent_before = self.sent;
        self.sent = self.conversation.messages().len();
        self.turns += 1;
        Action::Ask
    }

    /// Reverts the last request, which was not sent.
    pub(super) fn take_back(&mut self) {
        self.sent = self.sent_before;
        self.turns = self.turns.saturating_sub(1);
    }

    /// Returns the server says that the request was too long.
    pub(super) fn overflowed(&mut self, error: &Error) -> Action {
        tracing::warn!(%error, "the conversation is too long for the model, compacting it");
        // It was no turn.
        self.turns = self.turns.saturating_sub(1);
        if !self.size_limit.overflowed() {
            return self.give_in();
        }
        match self.compact() {
            Some(action) => action,
            None => self.go(),
        }
    }

    /// Ends the run, since no further compaction is possible.
    fn give_in(&mut self) -> Action {
        self.reach(Limit::ContextOverflow);
        // The last answer would be refused as well.
        self.is_last_answer = true;
        self.end()
    }

    fn size(&self) -> usize {
        self.fixed + self.conversation.bytes()
    }

    /// Returns the next step of compaction, if there is one.
    fn compact(&mut self) -> Option<Action> {
        loop {
            let excess = self.size().saturating_sub(self.size_limit.goal());
            let messages = self.conversation.messages();
            match self.size_limit.stage {
                Stage::OldResults => {
                    self.size_limit.stage = Stage::Summary;
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
                    self.size_limit.stage = Stage::LastResults;
                    let limit = self.size_limit.goal().saturating_sub(self.fixed);
                    if let Some(split_point) = split_point(messages, limit / 2) {
                        let older = messages.get(..split_point.tail).unwrap_or_default();
                        let request = summary_request(older, limit);
                        self.shortening.split_point = Some(split_point);
                        return Some(Action::Summarize(request));
                    }
                }
                Stage::LastResults => {
                    self.size_limit.stage = Stage::Spent;
                    let all = messages.len();
                    // The model has asked for them: they stay where they fit.
                    let excess = self.size().saturating_sub(self.size_limit.allowed());
                    if let Some(action) = self.put(all, excess) {
                        return Some(action);
                    }
                }
                Stage::Spent => return None,
            }
        }
    }

    fn put(&mut self, before: usize, excess: usize) -> Option<Action> {
        let offloaded = results(self.conversation.messages(), before, excess);
        self.shortening.offloaded = offloaded.iter().map(|put| put.position).collect();
        (!offloaded.is_empty()).then_some(Action::Keep(offloaded))
    }

    /// Leaves the beginnings of results that are kept elsewhere, or nowhere.
    pub(super) fn put_aside(&mut self, hints: &[Option<String>]) -> Action {
        let mut hints = hints.iter();
        for position in std::mem::take(&mut self.shortening.offloaded) {
            let hint = hints.next().and_then(Option::as_deref);
            self.conversation.change(position, |message| offload(message, hint));
        }
        let messages = self.conversation.messages().to_vec();
        self.shortened(messages, Usage::default());
        self.on()
    }

    /// Withdraws a pending request for a summary. It is repeated with the next request to the model.
    pub(super) fn unfold(&mut self) -> bool {
        let is_folding = self.shortening.split_point.take().is_some();
        if is_folding {
            self.size_limit.stage = Stage::default();
        }
        is_folding
    }

    /// Puts a summary, or a note, in the place of the older part.
    pub(super) fn summarized(&mut self, summary: Option<&str>, usage: Usage) -> Action {
        self.charge(usage);
        if let Some(split_point) = self.shortening.split_point.take() {
            let messages = self.conversation.messages();
            let prompt = (self.prompt_at < split_point.tail).then_some(self.prompt.as_str());
            let summary = summary.filter(|summary| !summary.trim().is_empty());
            let all = with_summary(messages, split_point, summary, prompt);
            let dropped = messages.len().saturating_sub(all.len());
            self.prompt_at = self.prompt_at.saturating_sub(dropped);
            self.shortened(all, usage);
        }
        self.on()
    }

    /// Returns the next action: a request if it fits, otherwise the next step of compaction.
    fn on(&mut self) -> Action {
        if self.size() > self.size_limit.goal()
            && let Some(action) = self.compact()
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
