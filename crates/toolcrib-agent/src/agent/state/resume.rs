//! Going on where a run was broken off.

use toolcrib_model::{Amount, ToolCall};

use super::super::calls::Pending;
use super::super::conversation::Conversation;
use super::super::limits::Limit;
use super::super::settings::AgentSettings;
use super::{Action, RunState};
use crate::journal::OpenCall;
use crate::{Budget, Message};

impl<'a> RunState<'a> {
    /// Returns a resumed run and its first action. Calls that were not begun are run. Calls that were begun and have no result are
    /// run only if they `may_repeat`; otherwise their result says that the outcome is unknown.
    pub(in crate::agent) fn resume(
        settings: &'a AgentSettings,
        conversation: &'a mut Conversation,
        may_repeat: &dyn Fn(&ToolCall) -> bool,
        budget: Budget,
    ) -> (Self, Action) {
        let open = conversation.take_open();
        let is_over = open.is_none();
        let open = open.unwrap_or_default();
        let itself = Amount { calls: open.executed.into(), ..open.usage.into() };
        let budget = budget.with_spent(itself.and(open.below));
        let mut state = Self::new(settings, conversation, budget);
        state.kept_below = open.below;
        state.prompt = open.prompt;
        state.prompt_at = open.prompt_at;
        (state.turns, state.executed, state.usage) = (open.turns, open.executed, open.usage);
        state.was_empty = open.was_empty;
        for past in open.past.iter().chain(&open.calls) {
            state.remember(past);
        }
        if state.failures >= settings.limits.max_failures {
            state.reach(Limit::Failures);
        }
        for open in open.calls {
            let mut call = Pending::open(open);
            if call.has_begun && call.answer.is_none() {
                let arguments = call.arguments.clone().unwrap_or_default();
                call.is_lost = !may_repeat(&ToolCall::new(state.qualified(&call.name), arguments));
            }
            state.pending.push(call);
        }
        if !state.pending.is_empty() {
            let action = state.work();
            return (state, action);
        }
        let messages = state.conversation.messages();
        let has_answered = matches!(messages.last(), Some(Message::Assistant { .. }));
        let said = messages.iter().rev().find(|message| matches!(message, Message::Assistant { .. }));
        state.text = said.map(|message| message.content().to_owned()).unwrap_or_default();
        if is_over || has_answered {
            // What ended before is not gone on with.
            state.answer.settle(is_over);
            let action = state.answered(None, None);
            return (state, action);
        }
        let action = state.next();
        (state, action)
    }

    /// Counts a call that was made before the run was broken off, as it was counted then. One without a result is counted
    /// when it is looked at again.
    fn remember(&mut self, open: &OpenCall) {
        // What was with_summary away is not in the conversation any more.
        self.ids.know(&open.call.id);
        let Some(answer) = &open.answer else { return };
        let call = Pending::open(open.clone());
        self.repeats.observe(&call.name, &call.compared());
        self.searches.observe(self.settings.step_of(&call.name));
        self.failures = if answer.ok { 0 } else { self.failures + 1 };
    }

    /// Answers the calls of a run that is not gone on with.
    pub(super) fn settle(&mut self) {
        let open = self.conversation.take_open().unwrap_or_default();
        for mut call in open.calls.into_iter().map(Pending::open) {
            if call.answer.is_none() {
                self.leave(&mut call);
            }
            self.pending.push(call);
        }
        self.give_results();
    }
}
