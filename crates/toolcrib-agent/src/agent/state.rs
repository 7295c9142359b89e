//! What happens next in a run. No I/O, no clock.

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use serde_json::Value;
use toolcrib_model::{ErrorKind, JsonObject, ToolCall, ToolError, ToolResult, canonical_json};
use toolcrib_prompt::{CallStyle, MAX_WIRE_NAME_CHARS, parse_text_calls, render_tool_result};

use super::arguments::{malformed, parse};
use super::conversation::Conversation;
use super::guard::{RepeatGuard, Repetition};
use super::limits::Limit;
use super::report::{CallRecord, Outcome, RunReport};
use super::result_text::{repeat_note, result_text};
use super::settings::AgentSettings;
use crate::{ChatReply, ChatRequest, Error, Message, RequestedCall, Usage};

/// What a model is told that said nothing.
const NUDGE: &str = "Your last message was empty. Call a tool, or answer.";

/// What stands in the conversation for a name that has no character of a name.
const NO_NAME: &str = "unknown";

/// What happens next.
#[derive(Debug)]
pub(super) enum Action {
    /// The model is asked: [`RunState::request`], then [`RunState::on_reply`] or [`RunState::stop`].
    Ask,
    /// A call is run, then [`RunState::on_result`].
    Call(ToolCall),
    /// A call was answered without being run, since it cannot be read.
    Refused(ToolResult),
    /// The run is over.
    End(RunReport),
}

/// A call that has no result yet.
#[derive(Debug)]
struct Pending {
    id: String,
    /// As the model wrote it.
    name: String,
    /// Or what is wrong with them.
    arguments: Result<JsonObject, String>,
    /// What the model wrote.
    raw: String,
    note: bool,
}

/// A run between two events.
#[derive(Debug)]
pub(super) struct RunState<'a> {
    settings: &'a AgentSettings,
    conversation: &'a mut Conversation,
    used_ids: HashSet<String>,
    /// The calls of the last message that have no result yet.
    pending: VecDeque<Pending>,
    running: Option<Pending>,
    /// In text style, the results of the last message's calls, which go back in one message.
    results: Vec<String>,
    guard: RepeatGuard,
    was_empty: bool,
    executed: u32,
    /// Set when the run ends as soon as each call has its result.
    ending: Option<Outcome>,
    text: String,
    turns: u32,
    calls: Vec<CallRecord>,
    usage: Usage,
}

impl<'a> RunState<'a> {
    pub(super) fn new(settings: &'a AgentSettings, conversation: &'a mut Conversation, prompt: &str) -> Self {
        let used_ids = conversation.call_ids();
        conversation.push(Message::User { content: prompt.to_owned() });
        Self {
            settings,
            conversation,
            used_ids,
            pending: VecDeque::new(),
            running: None,
            results: Vec::new(),
            guard: RepeatGuard::default(),
            was_empty: false,
            executed: 0,
            ending: None,
            text: String::new(),
            turns: 0,
            calls: Vec::new(),
            usage: Usage::default(),
        }
    }

    pub(super) fn style(&self) -> CallStyle {
        self.settings.style
    }

    /// The conversation as the model is asked to continue it.
    pub(super) fn request(&self) -> ChatRequest<'_> {
        ChatRequest {
            model: &self.settings.model,
            system: &self.settings.system_prompt,
            tools: match self.settings.style {
                CallStyle::Native => &self.settings.tools,
                CallStyle::Text => &[],
            },
            messages: self.conversation.messages(),
        }
    }

    /// Ends the run. Calls that have no result yet get one that says why they were not run. The first reason counts.
    pub(super) fn stop(&mut self, outcome: Outcome) {
        self.ending.get_or_insert(outcome);
    }

    /// What is to be done now.
    pub(super) fn next(&mut self) -> Action {
        while let Some(mut call) = self.pending.pop_front() {
            if self.ending.is_none() {
                self.check_limits(&mut call);
            }
            if let Some(ending) = &self.ending {
                let error = not_run(ending);
                self.answer(&call, &ToolResult::failed(Some(call.id.clone()), call.name.clone(), error));
                continue;
            }
            let arguments = match &call.arguments {
                Ok(arguments) => self.settings.restored(&call.name, arguments.clone()),
                Err(problem) => {
                    let error = malformed(&call.name, problem, &call.raw, &self.settings.tools);
                    let result = ToolResult::failed(Some(call.id.clone()), self.qualified(&call.name), error);
                    self.record(&call, &result, Duration::ZERO);
                    return Action::Refused(result);
                }
            };
            self.executed += 1;
            let name = self.qualified(&call.name);
            let action = Action::Call(ToolCall::new(name, arguments).with_call_id(call.id.clone()));
            self.running = Some(call);
            return action;
        }
        if !self.results.is_empty() {
            let content = std::mem::take(&mut self.results).join("\n\n");
            self.conversation.push(Message::User { content });
        }
        if self.ending.is_none() && self.turns >= self.settings.limits.max_turns {
            self.stop(Outcome::LimitReached { limit: Limit::Turns });
        }
        let Some(outcome) = self.ending.take() else {
            self.turns += 1;
            return Action::Ask;
        };
        Action::End(RunReport {
            outcome,
            text: std::mem::take(&mut self.text),
            turns: self.turns,
            calls: std::mem::take(&mut self.calls),
            usage: self.usage,
        })
    }

    /// Takes the model's message in, and returns its text without calls.
    pub(super) fn on_reply(&mut self, reply: ChatReply) -> String {
        self.usage += reply.usage;
        let (prose, calls) = self.calls_of(&reply);
        if prose.trim().is_empty() && calls.is_empty() {
            if self.was_empty {
                self.stop(Outcome::Failed {
                    error: Error::EmptyReply { finish_reason: reply.finish_reason },
                });
            } else {
                self.was_empty = true;
                self.conversation.push(Message::User { content: NUDGE.to_owned() });
            }
            return String::new();
        }
        self.was_empty = false;
        let tool_calls = match self.settings.style {
            CallStyle::Native => calls.iter().map(echo).collect(),
            CallStyle::Text => Vec::new(),
        };
        self.conversation.push(Message::Assistant { content: reply.content, tool_calls });
        if !prose.is_empty() {
            self.text.clone_from(&prose);
        }
        if calls.is_empty() {
            self.stop(Outcome::Completed);
        }
        self.pending = calls.into();
        prose
    }

    /// Takes in what came of the call that was to be run.
    pub(super) fn on_result(&mut self, result: &ToolResult, elapsed: Duration) {
        if let Some(call) = self.running.take() {
            self.record(&call, result, elapsed);
        }
    }

    fn calls_of(&mut self, reply: &ChatReply) -> (String, Vec<Pending>) {
        match self.settings.style {
            CallStyle::Native => {
                let calls = reply.tool_calls.iter().enumerate().map(|(position, call)| Pending {
                    id: self.unique_id(&call.id, position),
                    name: call.name.clone(),
                    arguments: named(&call.name, parse(&call.arguments)),
                    raw: call.arguments.clone(),
                    note: false,
                });
                let calls = calls.collect();
                (reply.content.clone(), calls)
            }
            CallStyle::Text => {
                let parsed = parse_text_calls(&reply.content);
                let calls = parsed.calls.into_iter().enumerate().map(|(position, call)| Pending {
                    id: self.unique_id("", position),
                    arguments: named(&call.name, call.arguments),
                    name: call.name,
                    raw: call.raw,
                    note: false,
                });
                let calls = calls.collect();
                (parsed.prose, calls)
            }
        }
    }

    /// The id itself, or one made of the places of turn and call where the model gave none, or one that it had given
    /// before.
    fn unique_id(&mut self, id: &str, position: usize) -> String {
        let mut unique = id.to_owned();
        let mut number = position + 1;
        while unique.is_empty() || self.used_ids.contains(&unique) {
            unique = format!("call_{}_{number}", self.turns);
            number += 1;
        }
        self.used_ids.insert(unique.clone());
        unique
    }

    /// Ends the run if this call is one too many.
    fn check_limits(&mut self, call: &mut Pending) {
        if self.executed >= self.settings.limits.max_calls {
            self.stop(Outcome::LimitReached { limit: Limit::Calls });
            return;
        }
        let arguments = match &call.arguments {
            Ok(arguments) => canonical_json(&Value::Object(arguments.clone())),
            Err(_) => call.raw.clone(),
        };
        match self.guard.observe(&call.name, &arguments) {
            Repetition::None => {}
            Repetition::Note => call.note = true,
            Repetition::Stop => self.stop(Outcome::LimitReached { limit: Limit::Repeats }),
        }
    }

    /// The tool behind a wire name; any other name as it is, for the entrance to resolve.
    fn qualified(&self, name: &str) -> String {
        let target = self.settings.wire_names.resolve(name);
        target.map_or_else(|| name.to_owned(), |target| target.name.to_string())
    }

    fn record(&mut self, call: &Pending, result: &ToolResult, elapsed: Duration) {
        self.calls.push(CallRecord {
            name: result.name.clone(),
            // A tool that forwards a call says what the tool inside was called with.
            arguments: match (result.metadata.get("forwarded"), &call.arguments) {
                (Some(forwarded), Ok(_)) => forwarded.get("arguments").cloned().unwrap_or_default(),
                (None, Ok(arguments)) => Value::Object(arguments.clone()),
                (_, Err(_)) => Value::String(call.raw.clone()),
            },
            ok: result.is_ok(),
            elapsed,
        });
        self.answer(call, result);
    }

    /// Gives a call its result.
    fn answer(&mut self, call: &Pending, result: &ToolResult) {
        let mut text = result_text(result, self.settings.limits.max_result_bytes);
        if call.note {
            text.push_str(&repeat_note());
        }
        match self.settings.style {
            CallStyle::Native => {
                self.conversation.push(Message::Tool { call_id: call.id.clone(), content: text });
            }
            CallStyle::Text => self.results.push(render_tool_result(&call.name, &call.id, &text)),
        }
    }
}

fn named(name: &str, arguments: Result<JsonObject, String>) -> Result<JsonObject, String> {
    if name.trim().is_empty() && arguments.is_ok() {
        return Err("it has no name".to_owned());
    }
    arguments
}

/// A call as it stands in the conversation. Servers refuse to read names that are none and arguments that are not
/// JSON; what the model really wrote, its result says.
fn echo(call: &Pending) -> RequestedCall {
    let name: String = call
        .name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' })
        .take(MAX_WIRE_NAME_CHARS)
        .collect();
    RequestedCall {
        id: call.id.clone(),
        name: if name.is_empty() { NO_NAME.to_owned() } else { name },
        arguments: match &call.arguments {
            Ok(arguments) => Value::Object(arguments.clone()).to_string(),
            Err(_) => "{}".to_owned(),
        },
    }
}

/// Why a call of a run that ends is not run.
fn not_run(ending: &Outcome) -> ToolError {
    match ending {
        Outcome::LimitReached { limit } => {
            ToolError::new(ErrorKind::LimitReached, format!("not run: the run reached its limit of {limit}"))
        }
        Outcome::Completed | Outcome::Failed { .. } => {
            ToolError::new(ErrorKind::Cancelled, "not run: the run was ended before it")
        }
    }
}
