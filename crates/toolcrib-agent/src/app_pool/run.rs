//! One call of an app.

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::Instant;
use toolcrib_document::nearest;
use toolcrib_model::{ErrorKind, ToolCall, ToolError, ToolResult};
use toolcrib_port::{CallContext, Progress, ProgressListener};

use super::{AppAgent, AppPool, CallableApp, MAX_RUNNING_APPS};
use crate::{Conversation, Error as AgentError, Observer, Outcome, RunReport};

/// The maximum length of a prompt, in characters; about 5,000 tokens.
const MAX_PROMPT_CHARS: usize = 20_000;

/// The maximum length of an answer, in characters.
const MAX_ANSWER_CHARS: usize = 60_000;

/// The part of its deadline that a call reserves for its result.
const TELLING: Duration = Duration::from_millis(500);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CallApp {
    /// The name of the app.
    app: String,
    /// The task, with everything that the app has to know: it sees nothing of this conversation.
    #[schemars(length(min = 1, max = MAX_PROMPT_CHARS))]
    prompt: String,
}

/// The report of a call.
#[derive(Serialize, JsonSchema)]
pub(super) struct CalledReport {
    /// The app.
    app: String,
    /// `completed`; `limit_reached` if a limit stopped it; `truncated`, `refused` or `content_filter` if the answer is
    /// incomplete; `invalid_output` if it does not conform to the output schema of the app.
    outcome: String,
    /// The limit that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    limit: Option<String>,
    /// True if that is a limit of the caller, which is used up.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    limit_of_caller: bool,
    /// The answer, or the last message of an incomplete run; empty if there is an `output`.
    text: String,
    /// The answer of an app with an output schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output: Option<Value>,
    /// The number of requests to the model.
    turns: u32,
    /// The number of calls of tools.
    calls: u64,
    /// The usage of tokens and its cost.
    usage: Value,
    /// The usage of the apps and agents that it delegated to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    spent_below: Option<Value>,
}

impl AppPool {
    pub(super) async fn call(
        &self,
        arguments: CallApp,
        context: CallContext,
    ) -> Result<CalledReport, ToolError> {
        let CallApp { app: name, prompt } = arguments;
        let Some((name, app)) = self.inner.apps.get_key_value(name.trim()) else {
            return Err(self.unknown(&name));
        };
        let count = prompt.chars().count();
        if count > MAX_PROMPT_CHARS || prompt.trim().is_empty() {
            let message = format!("`prompt` has {count} characters, and has to have 1 to {MAX_PROMPT_CHARS}");
            return Err(ToolError::new(ErrorKind::InvalidArgs, message)
                .with_hint("put what is long into a file that the app can read, and name it"));
        }
        let Ok(_permit) = self.inner.running.try_acquire() else {
            let message = format!("{MAX_RUNNING_APPS} apps are at work, and no more can be");
            return Err(ToolError::new(ErrorKind::LimitReached, message).with_hint("wait for one of them"));
        };
        let cancel = context.cancel.child_token();
        let run = self.run(name, app.as_ref(), &prompt, &context, cancel.clone());
        tokio::pin!(run);
        tokio::select! {
            report = &mut run => report,
            () = self.inner.closing.cancelled() => {
                cancel.cancel();
                run.await
            }
        }
    }

    async fn run(
        &self,
        name: &str,
        app: &dyn CallableApp,
        prompt: &str,
        context: &CallContext,
        cancel: tokio_util::sync::CancellationToken,
    ) -> Result<CalledReport, ToolError> {
        let starting = cancel.run_until_cancelled(app.agent(&context.session));
        let started = match context.deadline {
            Some(deadline) => tokio::time::timeout_at(deadline, starting).await.map_err(|_| {
                let message = format!("the app `{name}` has not started within the time of this call");
                ToolError::new(ErrorKind::Timeout, message)
            })?,
            None => starting.await,
        };
        let AppAgent { agent, model, caller, notice } =
            started.ok_or_else(|| cancelled(name))?.map_err(|error| {
                tracing::error!(%error, app = name, "an app that is called cannot be used");
                let message =
                    format!("the app `{name}` cannot be used as it is; its operator finds why in the log");
                ToolError::new(ErrorKind::Unavailable, message).with_hint("go on without it, and say so")
            })?;
        if let Some(notice) = &notice {
            tracing::warn!(notice, app = name, "an app that is called plays a recording");
        }
        let mut own =
            CallContext::new(Arc::clone(&context.session)).with_cancel(cancel).with_caller_of(context);
        own.trace.clone_from(&context.trace);
        own.budget.clone_from(&context.budget);
        own.reply_to.clone_from(&context.reply_to);
        own.deadline = context.deadline.map(|deadline| deadline.checked_sub(TELLING).unwrap_or(deadline));
        own.depth = context.depth;
        own.parallel = context.parallel;
        let mut watching = Watching { app: name, calls: 0, listener: context.progress.clone() };
        let began = Instant::now();
        let report =
            agent.run(prompt, &mut Conversation::new(), &*model, &*caller, &own, &mut watching).await;
        tracing::debug!(app = name, turns = report.turns, elapsed = ?began.elapsed(), "an app was called");
        told(name, report, watching.calls)
    }

    fn unknown(&self, name: &str) -> ToolError {
        let known: Vec<&str> = self.inner.apps.keys().map(String::as_str).collect();
        let shown: String = name.chars().take(64).collect();
        let hint = match nearest(&shown, known.iter().copied()) {
            Some(nearest) => format!("did you mean `{nearest}`?"),
            None => format!("there is: {}", known.join(", ")),
        };
        let message = format!("there is no app `{}`", shown.escape_debug());
        ToolError::new(ErrorKind::InvalidArgs, message).with_hint(hint)
    }
}

/// Returns the report of a run for the caller.
fn told(name: &str, report: RunReport, calls: u64) -> Result<CalledReport, ToolError> {
    let RunReport { outcome, text, output, turns, usage, spent_below, limit_of_caller, .. } = report;
    let (outcome, limit) = match outcome {
        Outcome::Completed => ("completed", None),
        Outcome::Truncated => ("truncated", None),
        Outcome::Refused => ("refused", None),
        Outcome::ContentFilter => ("content_filter", None),
        Outcome::InvalidOutput { .. } => ("invalid_output", None),
        Outcome::LimitReached { limit } => ("limit_reached", Some(limit.to_string())),
        Outcome::Failed { error: AgentError::Cancelled } => return Err(cancelled(name)),
        Outcome::Failed { error } => {
            let message =
                format!("the app `{name}` failed after {turns} turns and {} tokens: {error}", usage.tokens());
            return Err(ToolError::new(ErrorKind::ToolFailed, message)
                .with_hint("what it did until then is done; find out before you call it again"));
        }
    };
    Ok(CalledReport {
        app: name.to_owned(),
        outcome: outcome.to_owned(),
        limit,
        limit_of_caller,
        // The text is the value, as the model wrote it.
        text: if output.is_some() { String::new() } else { bounded(text) },
        output,
        turns,
        calls,
        usage: json!(usage),
        spent_below: (!spent_below.is_nothing()).then(|| json!(spent_below)),
    })
}

fn bounded(text: String) -> String {
    match text.char_indices().nth(MAX_ANSWER_CHARS) {
        Some((end, _)) => {
            let (kept, rest) = text.split_at(end);
            format!("{kept}… [{} more characters]", rest.chars().count())
        }
        None => text,
    }
}

fn cancelled(name: &str) -> ToolError {
    ToolError::new(ErrorKind::Cancelled, format!("the call of the app `{name}` was given up"))
}

/// An observer that reports the progress of the app to the caller.
struct Watching<'a> {
    app: &'a str,
    calls: u64,
    listener: Option<Arc<dyn ProgressListener>>,
}

impl Observer for Watching<'_> {
    fn on_call_started(&mut self, call: &ToolCall) {
        self.tell(format!("{} calls {}", self.app, call.name.replacen("::", ".", 1)));
    }

    fn on_call_finished(&mut self, _result: &ToolResult, _elapsed: Duration) {
        self.calls += 1;
    }
}

impl Watching<'_> {
    #[expect(clippy::cast_precision_loss, reason = "a run makes some hundred calls")]
    fn tell(&self, message: String) {
        if let Some(listener) = &self.listener {
            listener.progress(&Progress { done: self.calls as f64, total: None, message: Some(message) });
        }
    }
}
