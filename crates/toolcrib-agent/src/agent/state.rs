//! What happens next in a run. No I/O, no clock: [`RunState::step`] takes what happened and says what is to be done.

use std::time::Duration;

use serde_json::Value;
use toolcrib_model::{ErrorKind, ToolCall, ToolError, ToolResult, canonical_json};
use toolcrib_prompt::{CallStyle, TextReader, ToolNames, render_tool_result};

use super::arguments::malformed;
use super::calls::{CallIds, Pending};
use super::conversation::Conversation;
use super::guard::{RepeatGuard, Repetition, SearchGuard};
use super::limits::Limit;
use super::notes;
use super::report::{CallRecord, Outcome, RunReport};
use super::result_text::result_text;
use super::settings::AgentSettings;
use crate::{ChatReply, ChatRequest, Error, Message, ToolChoice, Usage};

/// What happened.
#[derive(Debug)]
pub(super) enum Event {
    /// The model replied.
    Replied(ChatReply),
    /// A step has its result, after this time.
    Finished { id: String, result: ToolResult, elapsed: Duration },
    /// The run has to end. Nothing that was to be run is running any more; what has no result is not run. The first reason
    /// counts.
    Stopped(Outcome),
}

/// What is to be done.
#[derive(Debug)]
pub(super) enum Action {
    /// The model is asked what [`RunState::request`] says: [`Event::Replied`] or [`Event::Stopped`] follows.
    Ask,
    /// These are done in this order, or side by side where they only read. [`Event::Finished`] follows for each, or
    /// [`Event::Stopped`] instead of those that were not begun.
    Call(Vec<Step>),
    /// Others are still running.
    Wait,
    /// The run is over.
    End(RunReport),
}

/// What is to be done about one call.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) id: String,
    pub(super) work: Work,
}

/// How a call comes to its result.
#[derive(Debug)]
pub(super) enum Work {
    /// It is run.
    Run(ToolCall),
    /// This is its result, since it cannot be read.
    Refused(ToolResult),
}

/// A run between two events.
#[derive(Debug)]
pub(super) struct RunState<'a> {
    settings: &'a AgentSettings,
    /// The tools that it may use, by which calls in a text are known.
    names: ToolNames,
    conversation: &'a mut Conversation,
    /// How many messages the model has been sent. Those do not change any more.
    sent: usize,
    ids: CallIds,
    /// The calls of the last reply, until each has its result.
    pending: Vec<Pending>,
    /// What is said to the model with the next messages.
    notes: Vec<String>,
    repeats: RepeatGuard,
    searches: SearchGuard,
    was_empty: bool,
    executed: u32,
    /// How many calls in a row have failed.
    failures: u32,
    /// Why the run ends, as soon as each call has its result.
    ending: Option<Outcome>,
    /// Whether the model is asked for its last answer, without tools.
    is_last_answer: bool,
    /// What the last reply said, without calls.
    said: String,
    /// The last that the model said at all.
    text: String,
    turns: u32,
    calls: Vec<CallRecord>,
    usage: Usage,
}

impl<'a> RunState<'a> {
    /// A run that begins, and what is to be done first.
    pub(super) fn begin(
        settings: &'a AgentSettings,
        conversation: &'a mut Conversation,
        prompt: &str,
    ) -> (Self, Action) {
        let ids = CallIds::new(conversation.call_ids());
        conversation.push(Message::User { content: prompt.to_owned() });
        let names = match settings.style {
            CallStyle::Native => ToolNames::default(),
            CallStyle::Text => ToolNames::from(&settings.wire_names),
        };
        let mut state = Self {
            settings,
            names,
            conversation,
            sent: 0,
            ids,
            pending: Vec::new(),
            notes: Vec::new(),
            repeats: RepeatGuard::default(),
            searches: SearchGuard::default(),
            was_empty: false,
            executed: 0,
            failures: 0,
            ending: None,
            is_last_answer: false,
            said: String::new(),
            text: String::new(),
            turns: 0,
            calls: Vec::new(),
            usage: Usage::default(),
        };
        let action = state.next();
        (state, action)
    }

    /// Takes in what happened.
    pub(super) fn step(&mut self, event: Event) -> Action {
        match event {
            Event::Replied(reply) => self.replied(reply),
            Event::Finished { id, result, elapsed } => self.finished(&id, &result, elapsed),
            Event::Stopped(outcome) => {
                // Whoever is asked for the last answer and does not give it ends as was said before.
                self.ending.get_or_insert(outcome);
                self.give_up();
                self.next()
            }
        }
    }

    pub(super) fn style(&self) -> CallStyle {
        self.settings.style
    }

    /// The names of all tools that may be called in a text.
    pub(super) fn names(&self) -> &ToolNames {
        &self.names
    }

    /// Reads the calls in a text. What the results in the conversation hold is none.
    fn reader(&self) -> TextReader<'_> {
        let results = self.conversation.messages().iter().filter_map(|message| match message {
            Message::User { content } => Some(content.as_str()),
            Message::Assistant { .. } | Message::Tool { .. } => None,
        });
        TextReader::new(&self.names).with_results(results)
    }

    /// Whether the model is asked for its last answer, for which there is time beyond the run's.
    pub(super) fn is_last_answer(&self) -> bool {
        self.is_last_answer
    }

    /// What the last reply said, without calls.
    pub(super) fn said(&self) -> &str {
        &self.said
    }

    /// The conversation as the model is asked to continue it.
    pub(super) fn request(&self) -> ChatRequest<'_> {
        ChatRequest {
            model: &self.settings.model,
            system: &self.settings.system_prompt,
            // Also for the last answer: what the model was offered is part of what servers keep.
            tools: match self.settings.style {
                CallStyle::Native => &self.settings.tools,
                CallStyle::Text => &[],
            },
            messages: self.conversation.messages(),
            tool_choice: match (self.is_last_answer, self.turns) {
                (true, _) => &ToolChoice::None,
                // Whoever always had to call would never answer.
                (false, 1) => &self.settings.tool_choice,
                (false, _) => &ToolChoice::Auto,
            },
        }
    }

    fn replied(&mut self, reply: ChatReply) -> Action {
        self.usage += reply.usage;
        self.said.clear();
        let (prose, calls) = match self.settings.style {
            CallStyle::Native => {
                let calls = self.ids.native(self.turns, &reply.tool_calls);
                (reply.content.clone(), calls)
            }
            CallStyle::Text => {
                let parsed = self.reader().read(&reply.content);
                (parsed.prose, self.ids.text(self.turns, parsed.calls))
            }
        };
        if prose.trim().is_empty() && calls.is_empty() {
            return self.said_nothing(reply.finish_reason);
        }
        self.was_empty = false;
        self.said.clone_from(&prose);
        let tool_calls = match self.settings.style {
            CallStyle::Native => calls.iter().map(Pending::echo).collect(),
            CallStyle::Text => Vec::new(),
        };
        let returns = self.settings.returns_reasoning && !tool_calls.is_empty();
        let reasoning = if returns { reply.reasoning } else { String::new() };
        self.conversation.push(Message::Assistant { content: reply.content, tool_calls, reasoning });
        if !prose.is_empty() {
            self.text = prose;
        }
        if calls.is_empty() {
            self.ending.get_or_insert(Outcome::Completed);
            return self.next();
        }
        self.pending = calls;
        let steps = self.plan();
        if steps.is_empty() { self.next() } else { Action::Call(steps) }
    }

    fn said_nothing(&mut self, finish_reason: Option<String>) -> Action {
        if self.is_last_answer {
            return self.next();
        }
        if self.was_empty {
            self.ending.get_or_insert(Outcome::Failed { error: Error::EmptyReply { finish_reason } });
        } else {
            self.was_empty = true;
            self.notes.push(notes::NUDGE.to_owned());
        }
        self.next()
    }

    /// What is done about each call of the last reply. Those that there is no room for have their answer already.
    fn plan(&mut self) -> Vec<Step> {
        let mut pending = std::mem::take(&mut self.pending);
        let mut steps = Vec::with_capacity(pending.len());
        for call in &mut pending {
            if self.ending.is_none() {
                self.check_limits(call);
            }
            if let Some(ending) = &self.ending {
                self.decline(call, ending);
                continue;
            }
            let name = self.qualified(&call.name);
            let work = match &call.arguments {
                Ok(arguments) => {
                    self.executed += 1;
                    let arguments = self.settings.restored(&call.name, arguments.clone());
                    Work::Run(ToolCall::new(name, arguments).with_call_id(call.id.clone()))
                }
                Err(problem) => {
                    let error = malformed(&call.name, problem, &call.raw, &self.settings.tools);
                    Work::Refused(ToolResult::failed(Some(call.id.clone()), name, error))
                }
            };
            steps.push(Step { id: call.id.clone(), work });
        }
        self.pending = pending;
        steps
    }

    /// Ends the run if this call is one too many.
    fn check_limits(&mut self, call: &mut Pending) {
        if self.executed >= self.settings.limits.max_calls {
            self.reach(Limit::Calls);
            return;
        }
        let arguments = match &call.arguments {
            Ok(arguments) => canonical_json(&Value::Object(arguments.clone())),
            Err(_) => call.raw.clone(),
        };
        match self.repeats.observe(&call.name, &arguments) {
            Repetition::None => {}
            Repetition::Note => call.is_repeated = true,
            Repetition::Stop => self.reach(Limit::Repeats),
        }
    }

    fn reach(&mut self, limit: Limit) {
        self.ending.get_or_insert(Outcome::LimitReached { limit });
    }

    fn finished(&mut self, id: &str, result: &ToolResult, elapsed: Duration) -> Action {
        let Some(position) = self.pending.iter().position(|call| call.id == id && call.answer.is_none())
        else {
            return Action::Wait;
        };
        self.failures = if result.is_ok() { 0 } else { self.failures + 1 };
        let limits = &self.settings.limits;
        let mut text = result_text(result, limits.max_result_bytes);
        if let Some(call) = self.pending.get_mut(position) {
            self.calls.push(record(call, result, elapsed));
            if call.is_repeated {
                notes::append(&mut text, &notes::repeated());
            }
            let searches = self.searches.observe(self.settings.step_of(&call.name));
            if let Some(note) = searches.and_then(|searches| notes::searched(searches, &result.result)) {
                notes::append(&mut text, &note);
            }
            call.answer = Some(text);
        }
        if self.failures >= limits.max_failures {
            self.reach(Limit::Failures);
        }
        if self.pending.iter().any(|call| call.answer.is_none()) { Action::Wait } else { self.next() }
    }

    /// Answers the calls that have no result yet: they are not run.
    fn give_up(&mut self) {
        let mut pending = std::mem::take(&mut self.pending);
        for call in pending.iter_mut().filter(|call| call.answer.is_none()) {
            if let Some(ending) = &self.ending {
                self.decline(call, ending);
            }
        }
        self.pending = pending;
    }

    /// Answers a call that is not run, since the run ends.
    fn decline(&self, call: &mut Pending, ending: &Outcome) {
        let result = ToolResult::failed(Some(call.id.clone()), call.name.clone(), not_run(ending));
        call.answer = Some(result_text(&result, self.settings.limits.max_result_bytes));
    }

    /// What is done when each call has its result: they go into the conversation, and the model is asked, if there is to
    /// be another turn.
    fn next(&mut self) -> Action {
        self.give_results();
        self.check_budget();
        match &self.ending {
            Some(Outcome::LimitReached { limit }) if !self.is_last_answer => {
                self.is_last_answer = true;
                self.notes.push(notes::last_answer(*limit, &self.settings.limits.reached(*limit)));
            }
            Some(_) => return self.end(),
            None => {}
        }
        self.give_notes();
        self.sent = self.conversation.messages().len();
        self.turns += 1;
        Action::Ask
    }

    fn check_budget(&mut self) {
        let limits = &self.settings.limits;
        if self.turns >= limits.max_turns {
            self.reach(Limit::Turns);
        }
        if self.usage.tokens() >= limits.max_tokens {
            self.reach(Limit::Tokens);
        }
        if self.usage.cost >= limits.max_cost {
            self.reach(Limit::Cost);
        }
    }

    /// The results of the last reply's calls, in the order of the calls; in text style in one message.
    fn give_results(&mut self) {
        let mut texts = Vec::new();
        for call in std::mem::take(&mut self.pending) {
            let answer = call.answer.unwrap_or_default();
            match self.settings.style {
                CallStyle::Native => {
                    self.conversation.push(Message::Tool { call_id: call.id, content: answer });
                }
                CallStyle::Text => texts.push(render_tool_result(&call.name, &call.id, &answer)),
            }
        }
        if !texts.is_empty() {
            self.conversation.push(Message::User { content: texts.join("\n\n") });
        }
    }

    /// What else is said goes behind the last message that the model has not seen: some servers take no user's message
    /// behind another one or behind a result.
    fn give_notes(&mut self) {
        for note in std::mem::take(&mut self.notes) {
            if self.conversation.messages().len() > self.sent && self.conversation.extend_last(&note) {
                continue;
            }
            self.conversation.push(Message::User { content: note });
        }
    }

    fn end(&mut self) -> Action {
        Action::End(RunReport {
            outcome: self.ending.take().unwrap_or(Outcome::Completed),
            text: std::mem::take(&mut self.text),
            turns: self.turns,
            calls: std::mem::take(&mut self.calls),
            usage: self.usage,
        })
    }

    /// The tool behind a wire name; any other name as it is, for the entrance to resolve.
    fn qualified(&self, name: &str) -> String {
        let target = self.settings.wire_names.resolve(name);
        target.map_or_else(|| name.to_owned(), |target| target.name.to_string())
    }
}

fn record(call: &Pending, result: &ToolResult, elapsed: Duration) -> CallRecord {
    CallRecord {
        name: result.name.clone(),
        // A tool that forwards a call says what the tool inside was called with.
        arguments: match (result.metadata.get("forwarded"), &call.arguments) {
            (Some(forwarded), Ok(_)) => forwarded.get("arguments").cloned().unwrap_or_default(),
            (None, Ok(arguments)) => Value::Object(arguments.clone()),
            (_, Err(_)) => Value::String(call.raw.clone()),
        },
        ok: result.is_ok(),
        elapsed,
    }
}

/// Why a call of a run that ends is not run.
fn not_run(ending: &Outcome) -> ToolError {
    match ending {
        Outcome::LimitReached { limit } => {
            let message = format!("not run: the run has reached its limit of {limit}");
            ToolError::new(ErrorKind::LimitReached, message)
        }
        Outcome::Completed | Outcome::Failed { .. } => {
            ToolError::new(ErrorKind::Cancelled, "not run: the run was ended before it")
        }
    }
}
