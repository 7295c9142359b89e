//! The loop: ask the model, run what it calls, feed back what came of it, until it answers or a limit is reached.
//!
//! What happens next is decided by a [state machine](state::RunState) that does no I/O and reads no clock; the driver
//! in this module does what it says.

mod arguments;
mod calls;
mod conversation;
mod driver;
mod guard;
mod limits;
mod notes;
mod observer;
mod offer;
mod pictures;
mod repair;
mod report;
mod result_text;
mod room;
mod settings;
mod span;
mod state;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use tokio::time::Instant;
use toolcrib_model::ToolCall;
use toolcrib_port::{CallContext, ToolCaller};
use tracing::Instrument as _;

use self::driver::Driver;
use self::state::RunState;
use crate::{Budget, ChatModel, Inbox, Journal};

pub use self::conversation::Conversation;
pub use self::guard::{
    ANSWER_AFTER_SEARCHES, HINT_AFTER_SEARCHES, NOTE_AFTER_REPEATS, REPEAT_WINDOW, STOP_AFTER_REPEATS,
};
pub use self::limits::{
    DEFAULT_MAX_CALLS, DEFAULT_MAX_COST, DEFAULT_MAX_DURATION, DEFAULT_MAX_FAILURES,
    DEFAULT_MAX_RESULT_BYTES, DEFAULT_MAX_TOKENS, DEFAULT_MAX_TURNS, LAST_ANSWER_TIME, Limit, RunLimits,
};
pub use self::observer::{Observer, Shortened};
pub use self::offer::MAX_REVEALED_TOOLS;
pub use self::pictures::{MAX_PICTURE_BYTES, MAX_PICTURES};
pub use self::report::{CallRecord, MAX_REPORTED_CALLS, MAX_REPORTED_NOTICES, Outcome, RunReport, Spent};
pub use self::room::DEFAULT_COMPACT_AT;
pub use self::settings::AgentSettings;
pub(crate) use conversation::extend_last;

/// How many calls that only read run side by side.
pub const MAX_PARALLEL_CALLS: usize = 8;

/// An agent: a model's instructions, the tools that it is offered, and the limits of its runs.
#[derive(Clone)]
pub struct Agent {
    settings: AgentSettings,
    journal: Option<Arc<dyn Journal>>,
    inbox: Option<Arc<dyn Inbox>>,
}

impl Agent {
    /// An agent with these settings.
    pub fn new(settings: AgentSettings) -> Self {
        Self { settings, journal: None, inbox: None }
    }

    /// Keeps what happens in its runs, so that they can go on after a crash.
    pub fn with_journal(mut self, journal: Arc<dyn Journal>) -> Self {
        self.journal = Some(journal);
        self
    }

    /// Tells the model with each turn what happened beside the conversation.
    pub fn with_inbox(mut self, inbox: Arc<dyn Inbox>) -> Self {
        self.inbox = Some(inbox);
        self
    }

    /// The settings.
    pub fn settings(&self) -> &AgentSettings {
        &self.settings
    }

    /// Answers a prompt. The conversation grows by the prompt and all that follows, and can be carried on, whatever
    /// the outcome. Where it becomes longer than the model takes in, its older part becomes shorter.
    ///
    /// Calls that [only read](ToolCaller::only_reads) run side by side, up to [`MAX_PARALLEL_CALLS`] neighbours at once; the
    /// others by themselves, in order. Each has exactly one result. Names that are in the table of wire names
    /// are looked up there; all others are passed on as they are, so that a call of a tool that was not offered is
    /// resolved where all names are. `context.cancel` ends the run. Where the context has a budget, the run spends no more than
    /// is left of it, and what it spends is charged to it; what the calls of this run start is below this run in the same way.
    pub async fn run(
        &self,
        prompt: &str,
        conversation: &mut Conversation,
        model: &dyn ChatModel,
        caller: &dyn ToolCaller,
        context: &CallContext,
        observer: &mut dyn Observer,
    ) -> RunReport {
        self.drive(Some(prompt), conversation, model, caller, context, observer).await
    }

    /// Goes on with the run that is [open](Conversation::is_open) in the conversation. Calls that were begun and have no
    /// result are begun again only if they [may](ToolCaller::may_repeat); else the model is told that what came of them is
    /// not known.
    pub async fn resume(
        &self,
        conversation: &mut Conversation,
        model: &dyn ChatModel,
        caller: &dyn ToolCaller,
        context: &CallContext,
        observer: &mut dyn Observer,
    ) -> RunReport {
        self.drive(None, conversation, model, caller, context, observer).await
    }

    async fn drive(
        &self,
        prompt: Option<&str>,
        conversation: &mut Conversation,
        model: &dyn ChatModel,
        caller: &dyn ToolCaller,
        context: &CallContext,
        observer: &mut dyn Observer,
    ) -> RunReport {
        let span = span::invoke_agent(&self.settings, model.provider(), context);
        let limits = &self.settings.limits;
        let above = Budget::of(context);
        let outer =
            [context.deadline, above.as_ref().and_then(|above| above.end())].into_iter().flatten().min();
        let end = Instant::now() + limits.max_duration;
        let end = outer.map_or(end, |outer| outer.min(end));
        let budget = match &above {
            Some(above) => Budget::below(above, limits.most()),
            None => Budget::new(limits.most()),
        };
        let budget = budget.with_end(end);
        let mut context = context.clone().with_agent(self.settings.name.as_str());
        context.deadline = Some(end);
        let (state, action) = if let Some(prompt) = prompt {
            RunState::begin(&self.settings, conversation, prompt, budget)
        } else {
            let may_repeat = |call: &ToolCall| caller.may_repeat(call, &context);
            RunState::resume(&self.settings, conversation, &may_repeat, budget)
        };
        context.budget = Some(state.budget().clone());
        let settings = &self.settings;
        let journal = self.journal.as_deref();
        let (inbox, is_told, notices) = (self.inbox.as_deref(), false, Vec::new());
        let driver = Driver {
            settings,
            model,
            caller,
            context,
            end,
            outer,
            observer,
            journal,
            inbox,
            is_told,
            notices,
        };
        let report = driver.drive(state, action).instrument(span.clone()).await;
        span::finished(&span, &report);
        report
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent").field("settings", &self.settings).finish_non_exhaustive()
    }
}
