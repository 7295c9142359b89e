//! From the calls of a reply to their results.

use std::time::Duration;

use serde_json::Value;
use toolcrib_model::{ErrorKind, ToolCall, ToolError, ToolResult};
use toolcrib_port::RunBudget as _;

use super::super::arguments::malformed;
use super::super::calls::Pending;
use super::super::conversation_repair::lost;
use super::super::limits::Limit;
use super::super::repetition::Repetition;
use super::super::report::{CallRecord, MAX_REPORTED_CALLS, Outcome};
use super::super::result_text::result_text;
use super::super::runtime_notes;
use super::super::settings::AgentSettings;
use super::{Action, RunState, Step, Work};
use crate::chat::Picture;
use crate::journal::Entry;

impl RunState<'_> {
    /// Plans each call of the last reply. Calls beyond the limit have their answer already.
    pub(super) fn plan(&mut self) -> Vec<Step> {
        let mut pending = std::mem::take(&mut self.pending);
        let mut steps = Vec::with_capacity(pending.len());
        for call in pending.iter_mut().filter(|call| call.answer.is_none()) {
            if self.ending.is_none() {
                self.check_limits(call);
            }
            if let Some(ending) = &self.ending {
                self.decline(call, ending);
                continue;
            }
            let name = self.qualified(&call.name);
            let work = match &call.arguments {
                // It may have happened already.
                Ok(_) if call.is_lost => refused(call, name, lost(&call.name)),
                Ok(_) if self.offer.is_unloaded(&call.name) => {
                    refused(call, name, not_loaded(&call.name, self.settings))
                }
                // Another one may have taken the last meanwhile.
                Ok(_) if !self.budget.take_call() => {
                    self.decline(call, &Outcome::LimitReached { limit: Limit::Calls });
                    self.reach(Limit::Calls);
                    continue;
                }
                Ok(arguments) => {
                    self.executed += 1;
                    self.offer.observe(&call.name, arguments);
                    let arguments = self.offer.restored(&call.name, arguments.clone());
                    Work::Run(ToolCall::new(name, arguments).with_call_id(call.id.clone()))
                }
                Err(problem) => {
                    let error = malformed(&call.name, problem, &call.raw, &self.settings.tools);
                    refused(call, name, error)
                }
            };
            steps.push(Step { id: call.id.clone(), work });
        }
        self.pending = pending;
        steps
    }

    /// Ends the run if this call is one too many.
    fn check_limits(&mut self, call: &mut Pending) {
        if self.budget.has_no_calls() {
            self.reach(Limit::Calls);
            return;
        }
        match self.repeats.observe(&call.name, &call.compared()) {
            Repetition::None => {}
            Repetition::Note => call.is_repeated = true,
            Repetition::Stop => self.reach(Limit::Repeats),
        }
    }

    pub(super) fn reach(&mut self, limit: Limit) {
        self.ending.get_or_insert(Outcome::LimitReached { limit });
    }

    pub(super) fn finished(
        &mut self,
        id: &str,
        result: &ToolResult,
        elapsed: Duration,
        pictures: Vec<Picture>,
    ) -> Action {
        let Some(position) = self.pending.iter().position(|call| call.id == id && call.answer.is_none())
        else {
            return Action::Wait;
        };
        self.failures = if result.is_ok() { 0 } else { self.failures + 1 };
        let limits = &self.settings.limits;
        let mut text = result_text(result, limits.max_result_bytes);
        let loads = self.offer.load(result.found_tools());
        if let Some(call) = self.pending.get_mut(position) {
            self.calls.push_back(record(call, result, elapsed));
            if self.calls.len() > MAX_REPORTED_CALLS {
                self.calls.pop_front();
                self.calls_left_out += 1;
            }
            let searches = self.searches.observe(self.settings.step_of(&call.name));
            let searched = searches.and_then(|searches| runtime_notes::searched(searches, &result.result));
            let repeated = call.is_repeated.then(runtime_notes::repeated);
            let mut note = String::new();
            for told in repeated.into_iter().chain(searched) {
                match (loads.is_empty(), note.is_empty()) {
                    (true, _) => runtime_notes::append(&mut text, &told),
                    (false, true) => note = told,
                    (false, false) => runtime_notes::append(&mut note, &told),
                }
            }
            let entry = Entry::Finished {
                call_id: call.id.clone(),
                ok: result.is_ok(),
                answer: text.clone(),
                note: note.clone(),
                loads: loads.clone(),
                pictures: pictures.clone(),
                ms: Some(u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)),
            };
            self.entries.push(entry);
            call.answer = Some(text);
            (call.note, call.loads) = (note, loads);
            call.pictures = pictures;
        }
        if self.failures >= limits.max_failures {
            self.reach(Limit::Failures);
        }
        if self.pending.iter().any(|call| call.answer.is_none()) { Action::Wait } else { self.next() }
    }

    /// Answers the calls that have no result yet: they are not run.
    pub(super) fn give_up(&mut self) {
        let mut pending = std::mem::take(&mut self.pending);
        for call in pending.iter_mut().filter(|call| call.answer.is_none()) {
            if let Some(ending) = &self.ending {
                self.decline(call, ending);
            }
        }
        self.pending = pending;
    }

    /// Answers a call of a run that was broken off and is not gone on with.
    pub(super) fn leave(&self, call: &mut Pending) {
        let error = if call.has_begun { lost(&call.name) } else { not_run(&Outcome::Completed) };
        let result = ToolResult::failed(Some(call.id.clone()), call.name.clone(), error);
        call.answer = Some(result_text(&result, self.settings.limits.max_result_bytes));
    }

    /// Answers a call that is not run, since the run ends.
    fn decline(&self, call: &mut Pending, ending: &Outcome) {
        let result = ToolResult::failed(Some(call.id.clone()), call.name.clone(), not_run(ending));
        call.answer = Some(result_text(&result, self.settings.limits.max_result_bytes));
    }

    /// Returns the tool behind a wire name; any other name as it is, for the entrance to resolve.
    pub(super) fn qualified(&self, name: &str) -> String {
        let target = self.settings.wire_names.resolve(name);
        target.map_or_else(|| name.to_owned(), |target| target.name.to_string())
    }
}

/// Returns a call that is not run, with the error that is its result.
fn refused(call: &Pending, name: String, error: ToolError) -> Work {
    let result = Box::new(ToolResult::failed(Some(call.id.clone()), name, error));
    Work::Refused { name: call.shown_name(), raw: call.raw.clone(), result }
}

fn record(call: &Pending, result: &ToolResult, elapsed: Duration) -> CallRecord {
    CallRecord {
        name: result.name.clone(),
        // A tool that forwards a call says what the tool inside was called with.
        arguments: match (result.forwarded_arguments(), &call.arguments) {
            (Some(forwarded), Ok(_)) => forwarded.clone(),
            (None, Ok(arguments)) => Value::Object(arguments.clone()),
            (_, Err(_)) => Value::String(call.raw.clone()),
        },
        ok: result.is_ok(),
        elapsed,
    }
}

/// Returns the error of a call of a deferred tool that no search has found.
fn not_loaded(name: &str, settings: &AgentSettings) -> ToolError {
    let search = settings.search_tool.as_deref().unwrap_or_default();
    let message = format!("`{name}` was not run: it is not loaded");
    ToolError::new(ErrorKind::UnknownTool, message)
        .with_hint(format!("find it with `{search}`, which loads it; then call it"))
}

/// Returns the error of a call that is not run because the run ends.
fn not_run(ending: &Outcome) -> ToolError {
    match ending {
        Outcome::LimitReached { limit } => {
            let message = format!("not run: the run has reached its limit of {limit}");
            ToolError::new(ErrorKind::LimitReached, message)
        }
        Outcome::Truncated => {
            let message = "not run: the message that it stands in was cut off, as was the one before";
            ToolError::new(ErrorKind::MalformedCall, message)
        }
        Outcome::Completed
        | Outcome::Refused
        | Outcome::ContentFilter
        | Outcome::InvalidOutput { .. }
        | Outcome::Failed { .. } => {
            ToolError::new(ErrorKind::Cancelled, "not run: the run was ended before it")
        }
    }
}
