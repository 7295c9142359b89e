//! The agent loop: asks the model, runs its calls and returns their results to it, until it answers or reaches a limit.
//!
//! A [state machine](state::RunState) without I/O and clock decides each step; the driver in this module carries it out.

mod arguments;
mod calls;
mod compaction;
mod conversation;
mod conversation_repair;
mod driver;
pub mod limits;
pub mod observer;
mod offered_tools;
mod pictures;
mod repetition;
pub mod report;
mod result_text;
mod runtime_notes;
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
use crate::notifications::NotificationQueue;
use crate::{Budget, ChatModel, Journal};

pub use self::conversation::Conversation;
pub use self::limits::RunLimits;
pub(crate) use self::limits::{Limit, MAX_PARALLEL_CALLS};
pub(crate) use self::observer::Compacted;
pub use self::observer::Observer;
pub(crate) use self::report::MAX_REPORTED_NOTICES;
pub use self::report::{Outcome, RunReport};
pub use self::settings::AgentSettings;
pub(crate) use conversation::extend_last;

/// An agent: a model's instructions, the tools that it is offered, and the limits of its runs.
#[derive(Clone)]
pub struct Agent {
    settings: AgentSettings,
    journal: Option<Arc<dyn Journal>>,
    notifications: Option<Arc<dyn NotificationQueue>>,
}

impl Agent {
    /// Creates an agent with these settings.
    pub fn new(settings: AgentSettings) -> Self {
        Self { settings, journal: None, notifications: None }
    }

    /// Keeps what happens in its runs, so that they can go on after a crash.
    pub fn with_journal(mut self, journal: Arc<dyn Journal>) -> Self {
        self.journal = Some(journal);
        self
    }

    /// Delivers out-of-band notifications to the model with each turn.
    pub fn with_notifications(mut self, notifications: Arc<dyn NotificationQueue>) -> Self {
        self.notifications = Some(notifications);
        self
    }

    /// Returns the settings.
    pub fn settings(&self) -> &AgentSettings {
        &self.settings
    }

    /// Answers a prompt. The conversation grows by the prompt and all that follows, and can be continued after any
    /// outcome. When it exceeds the context window of the model, its older part is compacted.
    ///
    /// Adjacent calls that [only read](toolcrib_port::Catalogue::only_reads) run concurrently, up to
    /// [`MAX_PARALLEL_CALLS`] at once; all other calls run one at a time, in order. Each call has exactly one result.
    /// Names in the table of wire names are resolved there; all other names are passed on, so that the caller resolves
    /// tools that were not offered.
    /// `context.cancel` ends the run. If the context has a budget, the run spends at most what is left of it and is
    /// charged to it; runs that the calls of this run start are charged to this run in the same way.
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

    /// Continues the interrupted run that is [open](Conversation::is_open) in the conversation. Calls that were begun
    /// and have no result are repeated only if they [may be](toolcrib_port::Catalogue::may_repeat); otherwise the model is told
    /// that their outcome is unknown.
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
        let above = context.budget.clone();
        let outer =
            [context.deadline, above.as_ref().and_then(|above| above.end())].into_iter().flatten().min();
        let end = Instant::now() + limits.max_duration;
        let end = outer.map_or(end, |outer| outer.min(end));
        let budget = match &above {
            Some(above) => Budget::below(Arc::clone(above), limits.most()),
            None => Budget::new(limits.most()),
        };
        let budget = budget.with_end(end);
        let mut context = context.clone().with_agent(self.settings.name.as_str());
        context.deadline = Some(end);
        let (state, action) = if let Some(prompt) = prompt {
            RunState::begin(&self.settings, conversation, prompt, budget)
        } else {
            let may_repeat = |call: &ToolCall| caller.catalogue().may_repeat(call, &context);
            RunState::resume(&self.settings, conversation, &may_repeat, budget)
        };
        context.budget = Some(state.budget().clone());
        let settings = &self.settings;
        let journal = self.journal.as_deref();
        let (notifications, is_told) = (self.notifications.as_deref(), false);
        let (notices, noticed) = (Vec::new(), Vec::new());
        let driver = Driver {
            settings,
            model,
            caller,
            context,
            end,
            outer,
            observer,
            journal,
            notifications,
            is_told,
            notices,
            noticed,
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
