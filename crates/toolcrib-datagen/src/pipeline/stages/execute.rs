//! The stage that makes the planned calls.

use async_trait::async_trait;
use serde_json::{Value, json};
use toolcrib_meta::names::{EXECUTE_TOOL, SEARCH_TOOLS};
use toolcrib_model::result::{handle_of, replace_handles_in};
use toolcrib_model::{ErrorKind, JsonObject, QualifiedName, ToolCall, ToolResult};
use toolcrib_port::CallContext;
use toolcrib_results::READ_RESULT;

use crate::Kind;
use crate::conversation::{Call, ConversationTool, Message};
use crate::engine::{simulation_failure, simulation_model};
use crate::pipeline::error::{PipelineError, StageError};
use crate::pipeline::item::Item;
use crate::pipeline::plan::{references, substitute, value_of};
use crate::pipeline::settings::StageKind;
use crate::pipeline::stage::{Stage, StageContext};
use crate::pipeline::tools::runtime_tool;
use crate::seed::Random;

/// `execute`: makes the planned calls through the session.
pub(super) struct Execute;

#[async_trait]
impl Stage for Execute {
    fn kind(&self) -> StageKind {
        StageKind::Execute
    }

    async fn run(&self, item: &mut Item, context: &StageContext) -> Result<(), StageError> {
        if matches!(item.conversation.kind, Kind::MissingTool | Kind::Irrelevant) {
            return Ok(());
        }
        check_tools(item, context)?;
        let name = session_name(item);
        let fail = |error: crate::session::SessionError, item: &Item| {
            StageError::Fail(PipelineError::Session { item: item.index, message: error.to_string() })
        };
        let session =
            context.sessions.setup(&name, item.session.clone()).map_err(|error| fail(error, item))?;
        let mut run = Run { context, session: session.name(), handles: Handles::new(item) };
        match item.conversation.kind {
            Kind::Discovery => run.discover(item).await?,
            _ => run.planned(item).await?,
        }
        item.session = context.sessions.state(&name).map_err(|error| fail(error, item))?;
        Ok(())
    }
}

/// Returns the name of the session of a turn. Each turn continues the state of the one before under another name, since
/// the end of a session may take longer than the next turn takes to begin.
fn session_name(item: &Item) -> String {
    format!("generate-{}-{}", item.conversation.id, item.complete_turns)
}

fn dropped(reason: &str, detail: impl Into<String>) -> StageError {
    StageError::drop(StageKind::Execute, reason, detail)
}

/// Checks that the tools of the plan are still those that the plan was made with. A tool that the policy denies is not
/// known to callers.
fn check_tools(item: &Item, context: &StageContext) -> Result<(), StageError> {
    if item.conversation.kind == Kind::Denied {
        return Ok(());
    }
    let caller = CallContext::new(session_name(item));
    for call in &item.plan {
        let found = context.caller.catalogue().find_tools(&call.name, &caller).unwrap_or_default();
        let mut planned = item.plannable.iter().filter(|tool| tool.name.to_string() == call.name);
        if !planned.all(|planned| found.iter().any(|tool| ConversationTool::from(tool.as_ref()) == *planned))
        {
            return Err(dropped("tool_changed", format!("`{}` has changed since it was planned", call.name)));
        }
    }
    Ok(())
}

/// The calls of one item in its session.
struct Run<'a> {
    context: &'a StageContext,
    session: &'a str,
    handles: Handles,
}

impl Run<'_> {
    /// Makes the calls of the plan: those that use no result of each other in one message.
    async fn planned(&mut self, item: &mut Item) -> Result<(), StageError> {
        let plan = item.plan.clone();
        let mut results: Vec<Option<Value>> = Vec::new();
        while results.len() < plan.len() {
            let done = results.len();
            let is_ready =
                |call: &&Call| references(&call.arguments).iter().all(|reference| reference.call < done);
            let group: Vec<&Call> = plan.iter().skip(done).take_while(is_ready).collect();
            if group.is_empty() {
                return Err(dropped("unresolved_reference", "a call uses a result that comes later"));
            }
            let mut calls = Vec::with_capacity(group.len());
            for planned in group {
                let arguments = substitute(&planned.arguments, &results);
                let arguments = arguments.map_err(|problem| dropped("unresolved_reference", problem))?;
                calls.push((planned.name.clone(), arguments));
            }
            let made = self.make(item, calls).await?;
            for result in &made {
                check_result(item.conversation.kind, result)?;
                results.push(value_of(result));
            }
            if item.conversation.kind == Kind::LongResult {
                self.read_more(item, made.first()).await?;
            }
        }
        Ok(())
    }

    /// Reads more of a result that is shown as a preview.
    async fn read_more(&mut self, item: &mut Item, result: Option<&ToolResult>) -> Result<(), StageError> {
        let handle = result.and_then(ToolResult::handle);
        let handle =
            handle.ok_or_else(|| dropped("short_result", "the result is not too long for one message"))?;
        let call = (runtime_tool(READ_RESULT), json!({"handle": handle}));
        for result in self.make(item, vec![call]).await? {
            check_result(Kind::LongResult, &result)?;
        }
        Ok(())
    }

    /// Searches for the planned tool, and calls it by its name.
    async fn discover(&mut self, item: &mut Item) -> Result<(), StageError> {
        let Some(planned) = item.plan.first().cloned() else { return Ok(()) };
        let target = item.plannable.iter().find(|tool| tool.name.to_string() == planned.name);
        let target = target.ok_or_else(|| dropped("tool_changed", planned.name.clone()))?.name.clone();
        let query = item.query.clone().unwrap_or_default();
        let search = (runtime_tool(SEARCH_TOOLS), json!({"query": query}));
        let found = self.make(item, vec![search]).await?;
        for result in &found {
            check_result(Kind::Discovery, result)?;
        }
        if !found.iter().any(|result| is_found(&result.result, &target)) {
            return Err(dropped("not_found", format!("a search for `{query}` does not find `{target}`")));
        }
        let call = json!({"name": target.dotted(), "params": planned.arguments});
        for result in self.make(item, vec![(runtime_tool(EXECUTE_TOOL), call)]).await? {
            check_result(Kind::Discovery, &result)?;
        }
        Ok(())
    }

    /// Makes calls, and adds them with their results to the conversation. Handles of results are random; the conversation
    /// has others in their place, which depend on its seed alone.
    async fn make(
        &mut self,
        item: &mut Item,
        calls: Vec<(String, Value)>,
    ) -> Result<Vec<ToolResult>, StageError> {
        let first = item.call_id();
        let first: usize = first.trim_start_matches("call_").parse().unwrap_or_default();
        let mut shown = Vec::with_capacity(calls.len());
        let mut made = Vec::with_capacity(calls.len());
        for (at, (name, mut arguments)) in calls.into_iter().enumerate() {
            let id = format!("call_{}", first + at);
            let object: JsonObject = arguments.as_object().cloned().unwrap_or_default();
            made.push(ToolCall { name: name.clone(), arguments: object, call_id: Some(id.clone()) });
            self.handles.replace(&mut arguments);
            shown.push(Call::new(id, name, arguments));
        }
        let results = self.context.sessions.execute(self.session, made).await.map_err(|error| {
            StageError::Fail(PipelineError::Session { item: item.index, message: error.to_string() })
        })?;
        for model in results.iter().filter_map(simulation_model) {
            item.conversation.provenance.add_model(model);
        }
        let messages = &mut item.conversation.messages;
        messages.push(Message::calls(shown.iter().cloned()));
        for (call, result) in shown.into_iter().zip(&results) {
            let mut message = match &result.error {
                Some(error) => Message::failure(call.id, error),
                None => Message::result(call.id, content(result)),
            };
            if let Message::Tool { content, .. } = &mut message {
                self.handles.replace(content);
            }
            messages.push(message);
        }
        Ok(results)
    }
}

/// Returns the value of a result as the assistant reads it. An absent value is described in words.
fn content(result: &ToolResult) -> Value {
    match (&result.result, result.facts()) {
        (Value::Null, Some(facts)) => facts.into(),
        (value, _) => value.clone(),
    }
}

/// Returns true if the result of a search lists a tool. Its lines begin with the name: `files.read(path: str) — …`.
fn is_found(result: &Value, target: &QualifiedName) -> bool {
    let lists = |line: &str| {
        let rest = line.strip_prefix(&target.dotted());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['(', ' ']))
    };
    match result {
        Value::String(text) => text.lines().any(lists),
        Value::Array(items) => items.iter().any(|item| is_found(item, target)),
        Value::Object(members) => ["results", "searches"]
            .into_iter()
            .filter_map(|key| members.get(key))
            .any(|list| is_found(list, target)),
        _ => false,
    }
}

/// The handles of a conversation in place of those of its results.
struct Handles {
    seed: u64,
    /// The real handles in the order in which they appeared.
    real: Vec<String>,
    /// The number of handles in earlier turns of the conversation.
    earlier: usize,
}

impl Handles {
    /// The part of a seed that handles derive from.
    const PART: u64 = u64::from_be_bytes(*b"handles\0");

    fn new(item: &Item) -> Self {
        let mut handles = Self { seed: item.conversation.seed, real: Vec::new(), earlier: 0 };
        let mut known = Vec::new();
        for message in &item.conversation.messages {
            if let Message::Tool { content, .. } = message {
                replace_handles_in(&mut content.clone(), &mut |handle| {
                    if !known.iter().any(|other| other == handle) {
                        known.push(handle.to_owned());
                    }
                    handle.to_owned()
                });
            }
        }
        handles.earlier = known.len();
        handles
    }

    fn replace(&mut self, value: &mut Value) {
        replace_handles_in(value, &mut |handle| {
            let at = self.real.iter().position(|real| real == handle).unwrap_or_else(|| {
                self.real.push(handle.to_owned());
                self.real.len() - 1
            });
            let seed = Random::derive(self.seed, Self::PART);
            let part = |half: u64| Random::derive(seed, ((self.earlier + at) as u64) * 2 + half);
            handle_of(u128::from(part(0)) << u64::BITS | u128::from(part(1)))
        });
    }
}

/// Checks that a result is one that the kind of the conversation needs. Other errors of a tool are part of the
/// conversation.
fn check_result(kind: Kind, result: &ToolResult) -> Result<(), StageError> {
    if let Some(failure) = simulation_failure(result) {
        let detail = result.error.as_ref().map(|error| error.message.clone()).unwrap_or_default();
        return Err(dropped(failure, detail));
    }
    let Some(error) = &result.error else {
        return match kind {
            Kind::Denied => Err(dropped("not_denied", format!("the call of `{}` ran", result.name))),
            _ => Ok(()),
        };
    };
    let is_denied =
        matches!(error.kind, ErrorKind::Denied | ErrorKind::ApprovalDenied | ErrorKind::ApprovalRequired);
    match error.kind {
        _ if is_denied && kind == Kind::Denied => Ok(()),
        _ if is_denied => Err(dropped("denied", error.message.clone())),
        ErrorKind::UnknownTool | ErrorKind::ToolChanged => {
            Err(dropped("tool_changed", error.message.clone()))
        }
        ErrorKind::InvalidArgs | ErrorKind::MalformedCall | ErrorKind::AmbiguousTool => {
            Err(dropped("invalid_call", error.message.clone()))
        }
        _ => Ok(()),
    }
}
