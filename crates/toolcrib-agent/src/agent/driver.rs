//! Does what the state says: asks the model, runs the calls, keeps what happened.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use tokio::time::Instant;
use toolcrib_model::{Amount, ErrorKind, ToolCall, ToolError, ToolResult};
use toolcrib_port::{CallContext, Reservation, RunBudget, ToolCaller};
use tracing::Instrument as _;

use super::compaction::OffloadedResult;
use super::limits::LAST_ANSWER_TIME;
use super::pictures::pictures;
use super::state::{Action, Event, RunState, Step, Work};
use super::{
    AgentSettings, Compacted, Limit, MAX_PARALLEL_CALLS, MAX_REPORTED_NOTICES, Observer, Outcome, RunReport,
    span,
};
use crate::budget::admit;
use crate::chat::{ChatReply, ChatRequest, Piece, ToolChoice};
use crate::journal::Entry;
use crate::notifications::{MAX_NOTES, NotificationQueue};
use crate::{ChatModel, Error, Journal, Message};

/// The time that a cancelled call has to return its result.
const GRACE: Duration = Duration::from_secs(2);

/// Does what the state says.
pub(super) struct Driver<'a> {
    pub(super) settings: &'a AgentSettings,
    pub(super) model: &'a dyn ChatModel,
    pub(super) caller: &'a dyn ToolCaller,
    pub(super) context: CallContext,
    /// The deadline of the run.
    pub(super) end: Instant,
    /// The deadline of the caller that started the run.
    pub(super) outer: Option<Instant>,
    pub(super) observer: &'a mut dyn Observer,
    pub(super) journal: Option<&'a dyn Journal>,
    pub(super) notifications: Option<&'a dyn NotificationQueue>,
    /// True if the pending notifications were delivered before the next turn.
    pub(super) is_told: bool,
    /// Notices about requests to the model, such as retries.
    pub(super) notices: Vec<String>,
    /// Journal entries of the notices that are not written yet.
    pub(super) noticed: Vec<Entry>,
}

impl Driver<'_> {
    /// Goes from one action to the next until the run is over.
    pub(super) async fn drive(mut self, mut state: RunState<'_>, first: Action) -> RunReport {
        let mut action = self.kept(&mut state, first, false).await;
        loop {
            action = match action {
                Action::Ask => self.ask(&mut state).await,
                Action::Call(steps) => self.work(&mut state, steps).await,
                Action::Keep(offloaded) => self.keep(&mut state, offloaded).await,
                Action::Summarize(request) => self.summarize(&mut state, &request).await,
                // Each step has its result, so there is nothing to wait for.
                Action::Wait => self.step(&mut state, Event::Stopped(cancelled()), false).await,
                Action::End(report) => return RunReport { notices: self.notices, ..*report },
            }
        }
    }

    /// Tells the state what happened, and keeps it before anything follows from it. `lasts` where it cannot be done again.
    async fn step(&mut self, state: &mut RunState<'_>, event: Event, lasts: bool) -> Action {
        let action = state.step(event);
        self.kept(state, action, lasts).await
    }

    /// Keeps what happened. Where that fails, the run ends, and nothing more is kept: what is there still tells how far it
    /// was.
    async fn kept(&mut self, state: &mut RunState<'_>, action: Action, lasts: bool) -> Action {
        for text in state.take_notices() {
            self.observer.on_notice(&text);
            notice(&mut self.notices, &mut self.noticed, &text);
        }
        let mut entries = std::mem::take(&mut self.noticed);
        entries.extend(state.take_entries());
        let Some(journal) = self.journal else { return action };
        let is_over = matches!(action, Action::End(_));
        if entries.is_empty() {
            return action;
        }
        let Err(source) = journal.write(&entries, lasts || is_over).await else { return action };
        self.journal = None;
        let failed = Outcome::Failed { error: Error::SessionFailed { source } };
        match action {
            Action::End(report) => Action::End(Box::new(RunReport { outcome: failed, ..*report })),
            _ => state.step(Event::Stopped(failed)),
        }
    }

    async fn ask(&mut self, state: &mut RunState<'_>) -> Action {
        if let Some(notifications) = self.notifications.filter(|_| !self.is_told && !state.is_last_answer()) {
            self.is_told = true;
            let waiting = notifications.pending(&self.context, MAX_NOTES).await;
            if !waiting.is_empty() {
                let told = waiting.iter().map(|note| note.text.clone()).collect();
                let action = self.step(state, Event::Notifications(told), true).await;
                notifications.acknowledge(&self.context, waiting).await;
                return action;
            }
        }
        let end = self.end_of_turn(state);
        // It is under way until what it took is counted.
        let _admission = match self.admit(state, end).await {
            Ok(admission) => admission,
            Err(event) => return self.step(state, event, false).await,
        };
        let event = match self.complete(&state.request(), end, true).await {
            Ok(reply) => Event::Replied(reply),
            Err(Outcome::Failed { error }) if error.is_context_overflow() => Event::Overflowed(error),
            Err(outcome) => Event::Stopped(outcome),
        };
        let has_replied = matches!(event, Event::Replied(_));
        self.is_told &= !has_replied;
        let action = self.step(state, event, false).await;
        if has_replied {
            self.observer.on_turn_finished();
        }
        action
    }

    /// Returns the deadline of the next turn.
    fn end_of_turn(&self, state: &RunState<'_>) -> Instant {
        if state.is_last_answer() { self.end_of_answer() } else { self.end }
    }

    /// Returns the deadline of work that may outlast the run.
    fn end_of_answer(&self) -> Instant {
        let end = Instant::now() + LAST_ANSWER_TIME;
        self.outer.map_or(end, |outer| outer.min(end))
    }

    /// Waits until the model may be asked. For its last answer a run goes beyond what it may spend itself, and not beyond what
    /// those above may.
    async fn admit(
        &mut self,
        state: &RunState<'_>,
        end: Instant,
    ) -> Result<Option<Box<dyn Reservation>>, Event> {
        let budget: Arc<dyn RunBudget> = match state.budget().above() {
            Some(above) if state.is_last_answer() => Arc::clone(above),
            None if state.is_last_answer() => return Ok(None),
            _ => state.budget().clone(),
        };
        let tokens = u64::from(self.settings.context_window);
        let most = Amount { tokens, cost: self.model.most_cost(tokens), calls: 0 };
        tokio::select! {
            biased;
            () = self.context.cancel.cancelled() => Err(Event::Stopped(cancelled())),
            () = tokio::time::sleep_until(end) => {
                Err(Event::Stopped(Outcome::LimitReached { limit: Limit::Duration }))
            }
            admitted = admit(&budget, most) => {
                admitted.map(Some).map_err(|resource| Event::Exhausted(resource.into()))
            }
        }
    }

    /// Asks the model, until the time is over or the run is cancelled.
    async fn complete(
        &mut self,
        request: &ChatRequest<'_>,
        end: Instant,
        is_shown: bool,
    ) -> Result<ChatReply, Outcome> {
        let span = span::chat(self.settings, self.model.provider(), &self.context);
        let observer = &mut *self.observer;
        let (notices, noticed) = (&mut self.notices, &mut self.noticed);
        let mut on_piece = |piece: Piece<'_>| match piece {
            Piece::Notice(text) => {
                observer.on_notice(text);
                notice(notices, noticed, text);
            }
            _ if !is_shown => {}
            Piece::Text(text) => observer.on_text(text),
            Piece::Reasoning(text) => observer.on_reasoning(text),
        };
        let reply = tokio::select! {
            biased;
            () = self.context.cancel.cancelled() => Err(cancelled()),
            () = tokio::time::sleep_until(end) => Err(Outcome::LimitReached { limit: Limit::Duration }),
            reply = self.model.complete(request, &mut on_piece).instrument(span.clone()) => {
                reply.map_err(|error| Outcome::Failed { error })
            }
        };
        span::replied(&span, &reply);
        reply
    }

    /// Asks for a summary. The run continues without one if the request fails.
    async fn summarize(&mut self, state: &mut RunState<'_>, request: &str) -> Action {
        let messages = [Message::user(request)];
        let request = ChatRequest {
            tool_choice: &ToolChoice::None,
            ..ChatRequest::new(&self.settings.model, &messages)
        };
        let _admission = match self.admit(state, self.end_of_turn(state)).await {
            Ok(admission) => admission,
            Err(event) => return self.step(state, event, false).await,
        };
        let end = self.end_of_answer();
        let (summary, usage) = match self.complete(&request, end, false).await {
            Ok(reply) => (Some(reply.content), reply.usage),
            Err(outcome) => {
                if self.context.cancel.is_cancelled() {
                    return self.step(state, Event::Stopped(outcome), false).await;
                }
                tracing::warn!(?outcome, "there is no summary, the oldest turns are dropped");
                (None, crate::chat::Usage::default())
            }
        };
        let what = if summary.is_some() { Compacted::Summarized } else { Compacted::Dropped };
        self.observer.on_shortened(what);
        self.step(state, Event::Summarized(summary, usage), false).await
    }

    /// Keeps results where they can be read later.
    async fn keep(&mut self, state: &mut RunState<'_>, offloaded: Vec<OffloadedResult>) -> Action {
        self.observer.on_shortened(Compacted::Results(offloaded.len()));
        let hints = offloaded
            .into_iter()
            .map(|put| self.caller.results().store(&put.name, put.text, &self.context))
            .collect();
        self.step(state, Event::Kept(hints), false).await
    }

    /// Runs the calls of a reply: those that only read side by side, the others by themselves, in order.
    async fn work(&mut self, state: &mut RunState<'_>, steps: Vec<Step>) -> Action {
        let mut action = Action::Wait;
        let mut steps = VecDeque::from(steps);
        while let Some(step) = steps.pop_front() {
            if let Some(outcome) = self.over() {
                return self.step(state, Event::Stopped(outcome), false).await;
            }
            let only_reads = self.only_reads(&step);
            let mut group = vec![step];
            while only_reads && let Some(next) = steps.pop_front_if(|step| self.only_reads(step)) {
                group.push(next);
            }
            if let Err(outcome) = self.begin(&group, !only_reads).await {
                return self.step(state, Event::Stopped(outcome), false).await;
            }
            let (caller, context, end) = (self.caller, &self.context, self.end);
            let running = group.into_iter().map(|Step { id, work }| async move {
                let began = Instant::now();
                let result = match work {
                    Work::Run(call) => settle(caller, call, context, end).await,
                    Work::Refused { result, .. } => *result,
                };
                (id, result, began.elapsed())
            });
            // In the order of the calls, so that observers see the same order each time.
            let mut finished = Box::pin(futures::stream::iter(running).buffered(MAX_PARALLEL_CALLS));
            let mut results = Vec::new();
            while let Some((id, result, elapsed)) = finished.next().await {
                self.observer.on_call_finished(&result, elapsed);
                let seen = if self.settings.sees_pictures {
                    pictures(&id, &result, self.caller.results(), &self.context)
                } else {
                    Vec::new()
                };
                results.push((id, result, elapsed, seen));
            }
            drop(finished);
            for (id, result, elapsed, pictures) in results {
                let finished = Event::Finished { id, result, elapsed, pictures };
                action = self.step(state, finished, !only_reads).await;
            }
        }
        action
    }

    /// Keeps that calls are begun, before they are.
    async fn begin(&mut self, group: &[Step], lasts: bool) -> Result<(), Outcome> {
        let runs = group.iter().filter_map(|step| match &step.work {
            Work::Run(call) => Some((&step.id, call)),
            Work::Refused { .. } => None,
        });
        let runs: Vec<_> = runs.collect();
        let entries: Vec<_> = runs.iter().map(|(id, _)| Entry::Begun { call_id: (*id).clone() }).collect();
        if let Some(journal) = self.journal.filter(|_| !entries.is_empty())
            && let Err(source) = journal.write(&entries, lasts).await
        {
            self.journal = None;
            return Err(Outcome::Failed { error: Error::SessionFailed { source } });
        }
        for step in group {
            match &step.work {
                Work::Run(call) => self.observer.on_call_started(call),
                Work::Refused { name, raw, .. } => self.observer.on_call_unreadable(name, raw),
            }
        }
        Ok(())
    }

    fn only_reads(&self, step: &Step) -> bool {
        matches!(&step.work, Work::Run(call) if self.caller.catalogue().only_reads(call, &self.context))
    }

    /// Returns the reason not to begin anything more, if there is one.
    fn over(&self) -> Option<Outcome> {
        if self.context.cancel.is_cancelled() {
            Some(cancelled())
        } else {
            (Instant::now() >= self.end).then_some(Outcome::LimitReached { limit: Limit::Duration })
        }
    }
}

/// Keeps a notice for the report and the journal.
fn notice(notices: &mut Vec<String>, noticed: &mut Vec<Entry>, text: &str) {
    if notices.len() < MAX_REPORTED_NOTICES {
        notices.push(text.to_owned());
        noticed.push(Entry::Noticed { text: text.to_owned() });
    }
}

fn cancelled() -> Outcome {
    Outcome::Failed { error: Error::Cancelled }
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
        let message = format!("{why} while `{name}` ran, and the outcome of the call is unknown");
        ToolResult::failed(call_id, name, ToolError::new(ErrorKind::OutcomeUnknown, message))
    })
}
