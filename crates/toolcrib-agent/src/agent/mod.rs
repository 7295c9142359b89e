//! The loop: ask the model, run what it calls, feed back what came of it, until it answers or a limit is reached.
//!
//! What happens next is decided by a [state machine](state::RunState) that does no I/O and reads no clock; the driver
//! in this module does what it says.

mod arguments;
mod calls;
mod conversation;
mod guard;
mod limits;
mod notes;
mod observer;
mod report;
mod result_text;
mod settings;
mod span;
mod state;

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::time::Duration;

use futures::StreamExt as _;
use tokio::time::Instant;
use toolcrib_model::{ErrorKind, ToolCall, ToolError, ToolResult};
use toolcrib_port::{CallContext, ToolCaller};
use toolcrib_prompt::{CallStyle, TextReader};
use tracing::Instrument as _;

use self::state::{Action, Event, RunState, Step, Work};
use crate::{ChatModel, Error, Piece};

pub use self::conversation::Conversation;
pub use self::guard::{
    ANSWER_AFTER_SEARCHES, HINT_AFTER_SEARCHES, NOTE_AFTER_REPEATS, REPEAT_WINDOW, STOP_AFTER_REPEATS,
};
pub use self::limits::{
    DEFAULT_MAX_CALLS, DEFAULT_MAX_COST, DEFAULT_MAX_DURATION, DEFAULT_MAX_FAILURES,
    DEFAULT_MAX_RESULT_BYTES, DEFAULT_MAX_TOKENS, DEFAULT_MAX_TURNS, LAST_ANSWER_TIME, Limit, RunLimits,
};
pub use self::observer::Observer;
pub use self::report::{CallRecord, Outcome, RunReport};
pub use self::settings::AgentSettings;

/// How many calls that only read run side by side.
pub const MAX_PARALLEL_CALLS: usize = 8;

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
    /// Calls that [only read](ToolCaller::only_reads) run side by side, up to [`MAX_PARALLEL_CALLS`] neighbours at once; the
    /// others by themselves, in order. Each has exactly one result. Names that are in the table of wire names
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
        let outer = context.deadline;
        let end = Instant::now() + self.settings.limits.max_duration;
        let end = outer.map_or(end, |outer| outer.min(end));
        let mut context = context.clone().with_agent(self.settings.name.as_str());
        context.deadline = Some(end);
        let mut driver = Driver { settings: &self.settings, model, caller, context, end, outer, observer };

        let (mut state, mut action) = RunState::begin(&self.settings, conversation, prompt);
        loop {
            action = match action {
                Action::Ask => driver.ask(&mut state).await,
                Action::Call(steps) => driver.work(&mut state, steps).await,
                // Each step has its result, so there is nothing to wait for.
                Action::Wait => state.step(Event::Stopped(Outcome::Failed { error: Error::Cancelled })),
                Action::End(report) => return report,
            }
        }
    }
}

/// Does what the state says.
struct Driver<'a> {
    settings: &'a AgentSettings,
    model: &'a dyn ChatModel,
    caller: &'a dyn ToolCaller,
    context: CallContext,
    /// When the time of the run is over.
    end: Instant,
    /// When the time of whoever started it is.
    outer: Option<Instant>,
    observer: &'a mut dyn Observer,
}

impl Driver<'_> {
    async fn ask(&mut self, state: &mut RunState<'_>) -> Action {
        let style = state.style();
        let end = if state.is_last_answer() {
            let end = Instant::now() + LAST_ANSWER_TIME;
            self.outer.map_or(end, |outer| outer.min(end))
        } else {
            self.end
        };
        let span = span::chat(self.settings, self.model.provider(), &self.context);
        // In text style the calls stand in the text, and are taken out before it is shown.
        let mut reader = TextReader::new(state.names());
        let request = state.request();
        let observer = &mut *self.observer;
        let mut on_piece = |piece: Piece<'_>| match piece {
            Piece::Text(text) if style == CallStyle::Text => {
                let news = reader.push(text);
                if !news.is_empty() {
                    observer.on_text(&news);
                }
            }
            Piece::Text(text) => observer.on_text(text),
            Piece::Reasoning(text) => observer.on_reasoning(text),
        };
        let reply = tokio::select! {
            biased;
            () = self.context.cancel.cancelled() => Err(Outcome::Failed { error: Error::Cancelled }),
            () = tokio::time::sleep_until(end) => Err(Outcome::LimitReached { limit: Limit::Duration }),
            reply = self.model.complete(&request, &mut on_piece).instrument(span.clone()) => {
                reply.map_err(|error| Outcome::Failed { error })
            }
        };
        span::replied(&span, &reply);
        drop(span);
        let reply = match reply {
            Ok(reply) => reply,
            Err(outcome) => return state.step(Event::Stopped(outcome)),
        };
        let shown = reader.shown().to_owned();
        let action = state.step(Event::Replied(reply));
        if style == CallStyle::Text {
            let rest = state.said().strip_prefix(shown.as_str()).unwrap_or(state.said());
            if !rest.is_empty() {
                self.observer.on_text(rest);
            }
        }
        self.observer.on_turn_finished();
        action
    }

    /// Runs the calls of a reply: those that only read side by side, the others by themselves, in order.
    async fn work(&mut self, state: &mut RunState<'_>, steps: Vec<Step>) -> Action {
        let mut action = Action::Wait;
        let mut steps = VecDeque::from(steps);
        while let Some(step) = steps.pop_front() {
            if let Some(outcome) = self.over() {
                return state.step(Event::Stopped(outcome));
            }
            let only_reads = self.only_reads(&step);
            let mut group = vec![step];
            while only_reads && let Some(next) = steps.pop_front_if(|step| self.only_reads(step)) {
                group.push(next);
            }
            for step in &group {
                if let Work::Run(call) = &step.work {
                    self.observer.on_call_started(call);
                }
            }
            let (caller, context, end) = (self.caller, &self.context, self.end);
            let running = group.into_iter().map(|Step { id, work }| async move {
                let began = Instant::now();
                let result = match work {
                    Work::Run(call) => settle(caller, call, context, end).await,
                    Work::Refused(result) => result,
                };
                (id, result, began.elapsed())
            });
            // In the order of the calls, so that whoever watches sees the same each time.
            let mut finished = futures::stream::iter(running).buffered(MAX_PARALLEL_CALLS);
            while let Some((id, result, elapsed)) = finished.next().await {
                self.observer.on_call_finished(&result, elapsed);
                action = state.step(Event::Finished { id, result, elapsed });
            }
        }
        action
    }

    fn only_reads(&self, step: &Step) -> bool {
        matches!(&step.work, Work::Run(call) if self.caller.only_reads(call, &self.context))
    }

    /// Why nothing more is begun.
    fn over(&self) -> Option<Outcome> {
        if self.context.cancel.is_cancelled() {
            Some(Outcome::Failed { error: Error::Cancelled })
        } else {
            (Instant::now() >= self.end).then_some(Outcome::LimitReached { limit: Limit::Duration })
        }
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
