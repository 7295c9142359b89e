//! The state machine of a run, without I/O and clock: [`RunState::step`] takes an event and returns the next action.

mod answer;
mod calls;
mod compact;
mod resume;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use toolcrib_model::{Amount, ToolCall, ToolResult};
use toolcrib_port::RunBudget as _;

use super::calls::{CallIds, Pending};
use super::compaction::{OffloadedResult, SizeLimit, fixed};
use super::conversation::Conversation;
use super::limits::Limit;
use super::offered_tools::Offer;
use super::repetition::{RepeatGuard, SearchGuard};
use super::report::{CallRecord, Outcome, RunReport, Spent};
use super::runtime_notes;
use super::settings::AgentSettings;
use crate::chat::{ChatReply, ChatRequest, Picture, ToolChoice, Usage, with_instruction};
use crate::journal::Entry;
use crate::{Budget, Error, Message};

/// An event of a run.
#[derive(Debug)]
pub(super) enum Event {
    /// The model replied.
    Replied(ChatReply),
    /// A step has its result, after this time, and pictures that belong to it.
    Finished { id: String, result: ToolResult, elapsed: Duration, pictures: Vec<Picture> },
    /// The model's server says that the request is longer than what the model takes in.
    Overflowed(Error),
    /// The results are kept, or not; for each how it is read then.
    Kept(Vec<Option<String>>),
    /// There is a summary, or none, at this cost.
    Summarized(Option<String>, Usage),
    /// The model was not asked, since what it takes is used up: others have spent the rest meanwhile.
    Exhausted(Limit),
    /// Out-of-band notifications for the model, which has not been asked yet.
    Notifications(Vec<String>),
    /// The run has to end. Nothing that was to be run is running any more; what has no result is not run. The first
    /// reason counts.
    Stopped(Outcome),
}

/// The next action of a run.
#[derive(Debug)]
pub(super) enum Action {
    /// The model is asked what [`RunState::request`] says: [`Event::Replied`], [`Event::Overflowed`],
    /// [`Event::Exhausted`] or [`Event::Stopped`] follows.
    Ask,
    /// These are done in this order, or side by side where they only read. [`Event::Finished`] follows for each, or
    /// [`Event::Stopped`] instead of those that were not begun.
    Call(Vec<Step>),
    /// These results are kept elsewhere: [`Event::Kept`] follows.
    Keep(Vec<OffloadedResult>),
    /// The model is asked this, apart from the conversation: [`Event::Summarized`], [`Event::Exhausted`] or
    /// [`Event::Stopped`] follows.
    Summarize(String),
    /// Others are still running.
    Wait,
    /// The run is over.
    End(Box<RunReport>),
}

/// The plan for one call.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) id: String,
    pub(super) work: Work,
}

/// The source of a call's result.
#[derive(Debug)]
pub(super) enum Work {
    /// It is run.
    Run(ToolCall),
    /// This is its result, since it cannot be read, or may have run already.
    Refused { name: String, raw: String, result: Box<ToolResult> },
}

/// A run between two events.
#[derive(Debug)]
pub(super) struct RunState<'a> {
    settings: &'a AgentSettings,
    /// The system prompt, with what it says of the schema of the answer.
    system: Cow<'a, str>,
    conversation: &'a mut Conversation,
    /// The number of messages that were sent to the model. These do not change any more.
    sent: usize,
    /// The number of messages that were sent with the previous request.
    sent_before: usize,
    ids: CallIds,
    /// The calls of the last reply, until each has its result.
    pending: Vec<Pending>,
    /// Texts for the model that are added to the next messages.
    notes: Vec<String>,
    repeats: RepeatGuard,
    searches: SearchGuard,
    was_empty: bool,
    /// True if the last message with calls was cut off.
    was_truncated: bool,
    executed: u32,
    /// The number of consecutive calls that have failed.
    failures: u32,
    /// The outcome with which the run ends as soon as each call has its result.
    ending: Option<Outcome>,
    /// True if the model is asked for its last answer, without tools.
    is_last_answer: bool,
    answer: answer::AnswerState,
    /// The latest prompt, and which message holds it.
    prompt: String,
    prompt_at: usize,
    /// The tools that the model is offered.
    offer: Offer<'a>,
    size_limit: SizeLimit,
    /// The bytes of what stands before the conversation.
    fixed: usize,
    /// The compaction in progress.
    shortening: compact::Compaction,
    compactions: u32,
    /// The models that answered.
    models: Vec<String>,
    /// The journal entries that are not written yet.
    entries: Vec<Entry>,
    kept: usize,
    /// The last that the model said at all.
    text: String,
    /// Texts for the user that are not told yet.
    notices: Vec<String>,
    turns: u32,
    calls: VecDeque<CallRecord>,
    /// The number of calls that the report leaves out.
    calls_left_out: u32,
    usage: Usage,
    /// The budget of the run, with the amount that runs below it spent.
    budget: Arc<Budget>,
    /// The amount spent below that the journal has.
    kept_below: Amount,
}

impl<'a> RunState<'a> {
    /// Returns a run that begins within this budget, and what is to be done first.
    pub(super) fn begin(
        settings: &'a AgentSettings,
        conversation: &'a mut Conversation,
        prompt: &str,
        budget: Budget,
    ) -> (Self, Action) {
        conversation.complete();
        let mut state = Self::new(settings, conversation, budget);
        state.settle();
        state.notes.extend(state.conversation.take_repairs().note());
        state.entries.push(Entry::Began { prompt: prompt.to_owned() });
        prompt.clone_into(&mut state.prompt);
        state.prompt_at = state.conversation.messages().len();
        state.conversation.push(Message::user(prompt));
        let action = state.next();
        (state, action)
    }

    fn new(settings: &'a AgentSettings, conversation: &'a mut Conversation, budget: Budget) -> Self {
        let system = with_instruction(&settings.system_prompt, settings.output_schema.as_deref());
        Self {
            settings,
            sent: 0,
            sent_before: 0,
            ids: CallIds::new(conversation.call_ids()),
            pending: Vec::new(),
            notes: Vec::new(),
            repeats: RepeatGuard::default(),
            searches: SearchGuard::default(),
            was_empty: false,
            was_truncated: false,
            executed: 0,
            failures: 0,
            ending: None,
            is_last_answer: false,
            answer: answer::AnswerState::default(),
            prompt: String::new(),
            prompt_at: 0,
            offer: Offer::new(settings, conversation.messages()),
            size_limit: SizeLimit::new(settings.context_window, settings.compact_at),
            fixed: fixed(&system, &settings.tools),
            shortening: compact::Compaction::default(),
            compactions: 0,
            models: Vec::new(),
            entries: Vec::new(),
            kept: conversation.messages().len(),
            text: String::new(),
            notices: Vec::new(),
            turns: 0,
            calls: VecDeque::new(),
            calls_left_out: 0,
            usage: Usage::default(),
            budget: Arc::new(budget),
            kept_below: Amount::default(),
            system,
            conversation,
        }
    }

    /// Takes in what happened.
    pub(super) fn step(&mut self, event: Event) -> Action {
        match event {
            Event::Replied(reply) => self.replied(reply),
            Event::Finished { id, result, elapsed, pictures } => {
                self.finished(&id, &result, elapsed, pictures)
            }
            Event::Overflowed(error) => self.overflowed(&error),
            Event::Kept(hints) => self.put_aside(&hints),
            Event::Summarized(summary, usage) => self.summarized(summary.as_deref(), usage),
            Event::Exhausted(limit) => self.exhausted(limit),
            Event::Notifications(told) => self.told(&told),
            Event::Stopped(outcome) => {
                // A run whose model does not give its last answer ends with the outcome that was decided before.
                self.ending.get_or_insert(outcome);
                self.give_up();
                self.next()
            }
        }
    }

    /// Takes the journal entries since the last call, in order.
    pub(super) fn take_entries(&mut self) -> Vec<Entry> {
        let mut entries = std::mem::take(&mut self.entries);
        let below = self.spent_below();
        let spent = Spent::from(below.without(self.kept_below));
        if !spent.is_nothing() {
            // Before what ended meanwhile, which may be the run.
            entries.insert(0, Entry::SpentBelow { spent });
            self.kept_below = below;
        }
        entries
    }

    /// Returns the budget of the run. Runs that it starts are below it.
    pub(super) fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    /// Returns the amount that the runs below this run spent.
    fn spent_below(&self) -> Amount {
        self.budget.spent().without(self.spent_itself())
    }

    fn spent_itself(&self) -> Amount {
        Amount { calls: self.executed.into(), ..self.usage.into() }
    }

    /// Returns true if the model is asked for its last answer, which may take longer than the run.
    pub(super) fn is_last_answer(&self) -> bool {
        self.is_last_answer
    }

    /// Returns the conversation as the model is asked to continue it.
    pub(super) fn request(&self) -> ChatRequest<'_> {
        ChatRequest {
            model: &self.settings.model,
            system: &self.system,
            // Also for the last answer: what the model was offered is part of what servers keep.
            tools: self.offer.tools(),
            messages: self.conversation.messages(),
            deferred: self.offer.deferred(),
            tool_choice: match (self.is_last_answer || self.answer.is_repair(), self.turns) {
                (true, _) => &ToolChoice::None,
                // A model that always has to call would never answer.
                (false, 1) => &self.settings.tool_choice,
                (false, _) => &ToolChoice::Auto,
            },
            options: None,
            output: self.settings.output_schema.as_deref(),
            encoded: Some(self.conversation.encoded()),
        }
    }

    /// Takes the texts for the user since the last call.
    pub(super) fn take_notices(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notices)
    }

    fn replied(&mut self, reply: ChatReply) -> Action {
        self.charge(reply.usage);
        let answered_by = reply.model.clone();
        let model = reply.model.unwrap_or_else(|| self.settings.model.clone());
        if !self.models.contains(&model) {
            self.models.push(model);
        }
        self.size_limit.answered(reply.usage);
        let mut calls = self.ids.read(self.turns, reply.tool_calls);
        if reply.content.trim().is_empty() && calls.is_empty() {
            return self.said_nothing(reply.finish_reason, reply.usage);
        }
        self.was_empty = false;
        let early = Outcome::of_finish_reason(reply.finish_reason.as_deref());
        let is_truncated = matches!(early, Some(Outcome::Truncated));
        // Those before it are whole, since it begins behind them.
        if let Some(last) = calls.last_mut().filter(|_| is_truncated) {
            last.cut_off();
        }
        self.said(&reply.content);
        let returns = self.settings.returns_reasoning && !calls.is_empty();
        let message = Message::Assistant {
            content: reply.content,
            tool_calls: calls.iter().map(Pending::echo).collect(),
            reasoning: if returns { reply.reasoning } else { String::new() },
            written: reply.written,
            provider_items: reply.provider_items,
        };
        let requested = calls.iter().map(Pending::requested).collect();
        let (usage, model) = (reply.usage, answered_by);
        self.entries.push(Entry::Replied { message: message.clone(), calls: requested, usage, model });
        self.conversation.push(message);
        self.kept = self.conversation.messages().len();
        if calls.is_empty() {
            return self.answered(early, reply.finish_reason.as_deref());
        }
        self.answer.interrupted();
        let was_truncated = std::mem::replace(&mut self.was_truncated, is_truncated);
        // Once, the model may write the call again with less in it.
        if let Some(early) = early.filter(|_| !is_truncated || was_truncated) {
            self.ending.get_or_insert(early);
        }
        self.pending = calls;
        self.work()
    }

    /// Returns the action for the calls without a result.
    fn work(&mut self) -> Action {
        let steps = self.plan();
        if steps.is_empty() { self.next() } else { Action::Call(steps) }
    }

    fn said_nothing(&mut self, finish_reason: Option<String>, usage: Usage) -> Action {
        self.entries.push(Entry::SaidNothing { usage });
        if self.is_last_answer {
            return self.next();
        }
        let early = Outcome::of_finish_reason(finish_reason.as_deref());
        let is_truncated = matches!(early, Some(Outcome::Truncated));
        match early {
            Some(early) if !is_truncated || self.was_empty => {
                self.ending.get_or_insert(early);
            }
            None if self.was_empty => {
                self.ending.get_or_insert(Outcome::Failed { error: Error::EmptyReply { finish_reason } });
            }
            _ => {
                let nudge = if is_truncated { runtime_notes::SHORTER } else { runtime_notes::NUDGE };
                self.notes.push(nudge.to_owned());
            }
        }
        self.was_empty = true;
        self.next()
    }

    /// Adds the results to the conversation once each call has one, and asks the model if there is another turn.
    fn next(&mut self) -> Action {
        self.give_results();
        self.check_budget();
        match &self.ending {
            Some(Outcome::LimitReached { limit }) if !self.is_last_answer && !self.is_exhausted_above() => {
                self.is_last_answer = true;
                let reached = if self.is_of_caller(*limit) {
                    String::new()
                } else {
                    self.settings.limits.reached(*limit)
                };
                self.notes.push(runtime_notes::last_answer(*limit, &reached));
            }
            Some(_) => return self.end(),
            None => {}
        }
        self.give_notes();
        self.keep_new();
        self.ask()
    }

    /// Returns the model is told something before it is asked what it was about to be asked.
    fn told(&mut self, told: &[String]) -> Action {
        self.take_back();
        self.notes.extend(told.iter().map(|text| runtime_notes::happened(text)));
        self.give_notes();
        self.keep_new();
        self.ask()
    }

    /// Keeps what was added to the conversation.
    fn keep_new(&mut self) {
        let messages = self.conversation.messages();
        if let Some(new @ [_, ..]) = messages.get(self.kept..) {
            self.entries.push(Entry::Said { messages: new.to_vec() });
        }
        self.kept = messages.len();
    }

    fn check_budget(&mut self) {
        if self.turns >= self.settings.limits.max_turns {
            self.reach(Limit::Turns);
        }
        if let Some(resource) = self.budget.exhausted() {
            self.reach(resource.into());
        }
    }

    /// Counts what the model took.
    fn charge(&mut self, usage: Usage) {
        self.usage += usage;
        self.budget.charge(usage.into());
    }

    /// Returns true if the budget of a run above is exhausted. That run gives the last answer then, not the ones below.
    fn is_exhausted_above(&self) -> bool {
        self.budget.above().is_some_and(|above| above.exhausted().is_some())
    }

    /// Returns true if a limit belongs to a run above, not to this one.
    fn is_of_caller(&self, limit: Limit) -> bool {
        let (spent, most) = (self.budget.spent(), self.settings.limits.most());
        match limit {
            Limit::Tokens => spent.tokens < most.tokens,
            Limit::Cost => spent.cost < most.cost,
            Limit::Calls => spent.calls < most.calls,
            _ => false,
        }
    }

    fn exhausted(&mut self, limit: Limit) -> Action {
        if !self.unfold() {
            self.take_back();
        }
        self.reach(limit);
        self.next()
    }

    /// Adds the results of the last reply's calls, in the order of the calls, followed by their pictures.
    fn give_results(&mut self) {
        let mut seen = Vec::new();
        for call in std::mem::take(&mut self.pending) {
            let name = call.shown_name();
            // Those of a run that was broken off are not loaded yet.
            self.offer.load(call.loads.iter().map(String::as_str));
            let (content, call_id) = (call.answer.unwrap_or_default(), call.id);
            self.conversation.push(Message::Tool {
                call_id,
                name,
                content,
                note: call.note,
                loads: call.loads,
            });
            seen.extend(call.pictures);
        }
        if !seen.is_empty() {
            self.conversation.push(Message::Pictures { pictures: seen });
        }
    }

    /// Appends the notes to the last message that the model has not seen: some servers refuse a user message after
    /// another one or after a result.
    fn give_notes(&mut self) {
        for note in std::mem::take(&mut self.notes) {
            let count = self.conversation.messages().len();
            if count > self.sent && self.conversation.extend_last(&note) {
                if count <= self.kept {
                    self.entries.push(Entry::Noted { text: note });
                }
                continue;
            }
            self.conversation.push(Message::user(note));
        }
    }
}
