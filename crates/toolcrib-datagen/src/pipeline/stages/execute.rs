//! The stage that makes the planned calls.

use async_trait::async_trait;
use serde_json::{Value, json};
use toolcrib_model::{ErrorKind, JsonObject, ToolCall, ToolResult};
use toolcrib_port::CallContext;

use crate::Kind;
use crate::conversation::{Call, ConversationTool, Message};
use crate::pipeline::error::{PipelineError, StageError};
use crate::pipeline::item::Item;
use crate::pipeline::plan::{references, substitute, value_of};
use crate::pipeline::settings::StageKind;
use crate::pipeline::stage::{Stage, StageContext};
use crate::pipeline::tools::{EXECUTE_TOOL, READ_RESULT, SEARCH_TOOLS};

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
        let run = Run { context, session: session.name() };
        match item.conversation.kind {
            Kind::Discovery => run.discover(item).await?,
            _ => run.planned(item).await?,
        }
        item.session = context.sessions.state(&name).map_err(|error| fail(error, item))?;
        Ok(())
    }
}

/// Returns the name of the session of an item.
fn session_name(item: &Item) -> String {
    format!("generate-{}", item.conversation.id)
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
}

impl Run<'_> {
    /// Makes the calls of the plan: those that use no result of each other in one message.
    async fn planned(&self, item: &mut Item) -> Result<(), StageError> {
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
    async fn read_more(&self, item: &mut Item, result: Option<&ToolResult>) -> Result<(), StageError> {
        let handle = result.and_then(ToolResult::handle);
        let handle =
            handle.ok_or_else(|| dropped("short_result", "the result is not too long for one message"))?;
        let call = (READ_RESULT.to_owned(), json!({"handle": handle}));
        for result in self.make(item, vec![call]).await? {
            check_result(Kind::LongResult, &result)?;
        }
        Ok(())
    }

    /// Searches for the planned tool, and calls it by its name.
    async fn discover(&self, item: &mut Item) -> Result<(), StageError> {
        let Some(planned) = item.plan.first().cloned() else { return Ok(()) };
        // The words of the name are what an assistant searches for that knows its task.
        let target = item.plannable.iter().find(|tool| tool.name.to_string() == planned.name);
        let target = target.ok_or_else(|| dropped("tool_changed", planned.name.clone()))?.name.clone();
        let query = target.name().replace(['_', '-', '.'], " ");
        let search = (SEARCH_TOOLS.to_owned(), json!({"query": query}));
        let found = self.make(item, vec![search]).await?;
        for result in &found {
            check_result(Kind::Discovery, result)?;
        }
        let is_found = found.iter().any(|result| {
            let text = result.result.to_string();
            text.contains(&target.dotted()) || text.contains(&target.to_string())
        });
        if !is_found {
            return Err(dropped("not_found", format!("a search for `{query}` does not find `{target}`")));
        }
        let call = json!({"name": target.dotted(), "params": planned.arguments});
        for result in self.make(item, vec![(EXECUTE_TOOL.to_owned(), call)]).await? {
            check_result(Kind::Discovery, &result)?;
        }
        Ok(())
    }

    /// Makes calls, and adds them with their results to the conversation.
    async fn make(
        &self,
        item: &mut Item,
        calls: Vec<(String, Value)>,
    ) -> Result<Vec<ToolResult>, StageError> {
        let first = item.call_id();
        let first: usize = first.trim_start_matches("call_").parse().unwrap_or_default();
        let mut shown = Vec::with_capacity(calls.len());
        let mut made = Vec::with_capacity(calls.len());
        for (at, (name, arguments)) in calls.into_iter().enumerate() {
            let id = format!("call_{}", first + at);
            let object: JsonObject = arguments.as_object().cloned().unwrap_or_default();
            made.push(ToolCall { name: name.clone(), arguments: object, call_id: Some(id.clone()) });
            shown.push(Call::new(id, name, arguments));
        }
        let results = self.context.sessions.execute(self.session, made).await.map_err(|error| {
            StageError::Fail(PipelineError::Session { item: item.index, message: error.to_string() })
        })?;
        let messages = &mut item.conversation.messages;
        messages.push(Message::calls(shown.iter().cloned()));
        for (call, result) in shown.into_iter().zip(&results) {
            let (content, failed) = match &result.error {
                Some(error) => (error_text(error), true),
                None => (result.result.clone(), false),
            };
            messages.push(Message::Tool { call_id: call.id, content, failed });
        }
        Ok(results)
    }
}

/// Returns an error as the assistant reads it.
fn error_text(error: &toolcrib_model::ToolError) -> Value {
    let mut text = error.message.clone();
    if let Some(hint) = &error.hint {
        text.push_str("\nhint: ");
        text.push_str(hint);
    }
    text.into()
}

/// Checks that a result is one that the kind of the conversation needs. Other errors of a tool are part of the
/// conversation.
fn check_result(kind: Kind, result: &ToolResult) -> Result<(), StageError> {
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
