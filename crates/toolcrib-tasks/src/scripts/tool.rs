//! The tool `run_script`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_model::{ErrorKind, Risk, ToolError};
use toolcrib_sdk::{CallContext, FunctionTool};

use super::record::{ScriptState, WaitingCall};
use super::{ScriptOutcome, Scripts};

/// The name of the tool.
pub const RUN_SCRIPT: &str = "run_script";

/// The time that a script may take, in seconds, unless the app limits the tool otherwise.
const TIMEOUT_SECONDS: u64 = 300;

const DESCRIPTION: &str = "Run JavaScript that calls tools which you have found: for loops, dependent calls, or filtering \
                           large results. `await tools.namespace.name({…})`; `Promise.all` runs calls at once; `return` \
                           the result. A failed call throws `ToolError {kind, message, hint, retryable}`. No imports, \
                           files or network";

#[derive(Deserialize, JsonSchema)]
struct RunScript {
    /// The body of an async function.
    #[serde(default)]
    source: Option<String>,
    /// The id of a paused script, instead of `source`.
    #[serde(default)]
    resume: Option<String>,
}

/// The result of the tool.
#[derive(Serialize, JsonSchema)]
struct ScriptOutput {
    /// The value that the script returned.
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Value>,
    /// The lines that it wrote to the console.
    #[serde(skip_serializing_if = "String::is_empty")]
    console: String,
    /// The number of its calls.
    calls: usize,
    /// The number of calls that failed.
    #[serde(skip_serializing_if = "is_zero")]
    failed_calls: usize,
    /// The id of a paused script.
    #[serde(skip_serializing_if = "Option::is_none")]
    script_id: Option<String>,
    /// The calls of a paused script that a person has to approve.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    waiting_for: Vec<WaitingCall>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl Scripts {
    /// Returns `run_script`, as a function for the namespace of the runtime's built-in tools. Each call of a script is
    /// authorized under its own name.
    pub fn tools(&self) -> Vec<FunctionTool> {
        let scripts = self.clone();
        let run = move |arguments: RunScript, context: CallContext| {
            let scripts = scripts.clone();
            async move { scripts.run_tool(arguments, &context).await }
        };
        let tool = FunctionTool::new(RUN_SCRIPT, DESCRIPTION, run)
            .with_risk(Risk::Low)
            .with_output::<ScriptOutput>()
            .with_aliases(["script", "code", "execute code", "javascript"])
            .with_metadata("operational", true)
            .with_metadata("presence", "essential")
            .with_metadata("timeout_seconds", TIMEOUT_SECONDS);
        vec![tool]
    }

    async fn run_tool(&self, arguments: RunScript, context: &CallContext) -> Result<ScriptOutput, ToolError> {
        let callers = self.inner.settings.callers;
        if !(if context.agent.is_some() { callers.agents } else { callers.clients }) {
            return Err(
                ToolError::new(ErrorKind::Denied, "scripts are off").with_hint("make the calls one by one")
            );
        }
        if context.parallel {
            let message = "a script runs neither inside of a script nor as one of several parallel calls";
            return Err(
                ToolError::new(ErrorKind::MalformedCall, message).with_hint("call `run_script` separately")
            );
        }
        let outcome = match (arguments.source, arguments.resume) {
            (Some(source), None) => self.run(&source, context).await?,
            (None, Some(id)) => self.resume(&id, context).await?,
            _ => {
                let message = "expected either `source` or `resume`";
                return Err(ToolError::new(ErrorKind::InvalidArgs, message));
            }
        };
        output(outcome)
    }
}

/// Returns an outcome for the model that wrote the script.
fn output(outcome: ScriptOutcome) -> Result<ScriptOutput, ToolError> {
    if let Some(mut error) = outcome.error {
        if outcome.calls > 0 {
            let succeeded = outcome.calls - outcome.failed_calls;
            error.message =
                format!("{}; {succeeded} of {} calls had succeeded", error.message, outcome.calls);
        }
        return Err(error);
    }
    let is_paused = outcome.state == ScriptState::Paused;
    let note = match outcome.abandoned {
        _ if is_paused => Some(
            "the script is paused until a person approves these calls, and you are then told its result; `resume` asks again"
                .to_owned(),
        ),
        0 => None,
        abandoned => Some(format!("{abandoned} calls were not made, because the script did not await them")),
    };
    Ok(ScriptOutput {
        result: (!is_paused).then_some(outcome.result),
        console: outcome.console,
        calls: outcome.calls,
        failed_calls: outcome.failed_calls,
        script_id: is_paused.then_some(outcome.id),
        waiting_for: outcome.waiting_for,
        note,
    })
}
