//! The loop: ask the model, run what it calls, feed back what came of it, until it answers or a limit is reached.
//!
//! What happens next is decided by a [state machine](state::RunState) that does no I/O and reads no clock; the driver
//! in this module does what it says.

mod arguments;
mod conversation;
mod guard;
mod limits;
mod observer;
mod report;
mod result_text;
mod settings;
mod span;
mod state;

#[cfg(test)]
mod tests;

use std::time::Duration;

use tokio::time::Instant;
use toolcrib_model::{ErrorKind, ToolCall, ToolError, ToolResult};
use toolcrib_port::{CallContext, ToolCaller};
use toolcrib_prompt::CallStyle;
use tracing::Instrument as _;

use self::state::{Action, RunState};
use crate::{ChatModel, Error};

pub use self::conversation::Conversation;
pub use self::guard::{NOTE_AFTER_REPEATS, REPEAT_WINDOW, STOP_AFTER_REPEATS};
pub use self::limits::{
    DEFAULT_MAX_CALLS, DEFAULT_MAX_DURATION, DEFAULT_MAX_RESULT_BYTES, DEFAULT_MAX_TURNS, Limit, RunLimits,
};
pub use self::observer::Observer;
pub use self::report::{CallRecord, Outcome, RunReport};
pub use self::settings::AgentSettings;

/// How long a call that is given up may take to say what became of it.
const GRACE: Duration = Duration::from_secs(2);

/// An agent: a model's instructions, the tools that it is offered, and the limits of its runs.
#[derive(Clone, Debug)]
pub struct Agent {
    settings: AgentSettings,
}

impl Agent {
    /// An agent with these settings.
    pub fn new(settings: AgentSettings) -> Self {
        Self { settings }
    }

    /// The settings.
    pub fn settings(&self) -> &AgentSettings {
        &self.settings
    }

    /// Answers a prompt. The conversation grows by the prompt and all that follows, and can be carried on, whatever
    /// the outcome.
    ///
    /// Calls are run one after the other, and each has exactly one result. Names that are in the table of wire names
    /// are looked up there; all others are passed on as they are, so that a call of a tool that was not offered is
    /// resolved where all names are. `context.cancel` ends the run.
    pub async fn run(
        &self,
        prompt: &str,
        conversation: &mut Conversation,
        model: &dyn ChatModel,
        caller: &dyn ToolCaller,
        context: &CallContext,
        observer: &mut dyn Observer,
    ) -> RunReport {
        let span = span::invoke_agent(&self.settings, model.provider(), context);
        let running = self.drive(prompt, conversation, model, caller, context, observer);
        let report = running.instrument(span.clone()).await;
        span::finished(&span, &report);
        report
    }

    async fn drive(
        &self,
        prompt: &str,
        conversation: &mut Conversation,
        model: &dyn ChatModel,
        caller: &dyn ToolCaller,
        context: &CallContext,
        observer: &mut dyn Observer,
    ) -> RunReport {
        let end = Instant::now() + self.settings.limits.max_duration;
        let mut context = context.clone().with_agent(self.settings.name.as_str());
        context.deadline = Some(context.deadline.map_or(end, |deadline| deadline.min(end)));

        let mut state = RunState::new(&self.settings, conversation, prompt);
        loop {
            if context.cancel.is_cancelled() {
                state.stop(Outcome::Failed { error: Error::Cancelled });
            } else if Instant::now() >= end {
                state.stop(Outcome::LimitReached { limit: Limit::Duration });
            }
            match state.next() {
                Action::Ask => ask(&mut state, &self.settings, model, &context, end, observer).await,
                Action::Call(call) => {
                    observer.on_call_started(&call);
                    let began = Instant::now();
                    let result = settle(caller, call, &context, end).await;
                    let elapsed = began.elapsed();
                    observer.on_call_finished(&result, elapsed);
                    state.on_result(&result, elapsed);
                }
                Action::Refused(result) => observer.on_call_finished(&result, Duration::ZERO),
                Action::End(report) => return report,
            }
        }
    }
}

async fn ask(
    state: &mut RunState<'_>,
    settings: &AgentSettings,
    model: &dyn ChatModel,
    context: &CallContext,
    end: Instant,
    observer: &mut dyn Observer,
) {
    let style = state.style();
    let request = state.request();
    let mut on_text = |text: &str| {
        // In text style the calls stand in the text: it is shown when they are read and taken out.
        if style == CallStyle::Native {
            observer.on_text(text);
        }
    };
    let span = span::chat(settings, model.provider(), context);
    let reply = tokio::select! {
        biased;
        () = context.cancel.cancelled() => Err(Outcome::Failed { error: Error::Cancelled }),
        () = tokio::time::sleep_until(end) => Err(Outcome::LimitReached { limit: Limit::Duration }),
        reply = model.complete(&request, &mut on_text).instrument(span.clone()) => reply.map_err(|error| Outcome::Failed { error }),
    };
    span::replied(&span, &reply);
    drop(span);
    match reply {
        Ok(reply) => {
            let prose = state.on_reply(reply);
            if style == CallStyle::Text && !prose.is_empty() {
                observer.on_text(&prose);
            }
            observer.on_turn_finished();
        }
        Err(outcome) => state.stop(outcome),
    }
}

/// Runs a call to its result. The executor hears of the end of the run as well, and knows better what became of the
/// call, so it has a little time to say so.
async fn settle(caller: &dyn ToolCaller, call: ToolCall, context: &CallContext, end: Instant) -> ToolResult {
    let (name, call_id) = (call.name.clone(), call.call_id.clone());
    let mut running = caller.call(call, context);
    let why = tokio::select! {
        biased;
        result = &mut running => return result,
        () = context.cancel.cancelled() => "the run was cancelled",
        () = tokio::time::sleep_until(end) => "the time of the run was over",
    };
    tokio::time::timeout(GRACE, running).await.unwrap_or_else(|_| {
        let message = format!("{why} while `{name}` ran, and what came of the call is not known");
        ToolResult::failed(call_id, name, ToolError::new(ErrorKind::OutcomeUnknown, message))
    })
}
