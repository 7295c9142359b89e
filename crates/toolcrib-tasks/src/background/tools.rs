//! The tool `background_run`.

use serde_json::json;
use toolcrib_model::{Risk, ToolCall, ToolError};
use toolcrib_sdk::{CallContext, FunctionTool};

use super::arguments::{BackgroundRun, RunMode, RunOutput};
use super::{Background, MAX_TASK_WAIT};

/// The time that a call of the tool may take in addition to its wait, in seconds.
const SLACK_SECONDS: u64 = 30;

const DESCRIPTION: &str = "Run `tool` in the background: gives a `task_id`. With that: its status, or `wait`, or `cancel`. `list` all";

impl Background {
    /// Returns `background_run`, as a function for the namespace of the runtime's built-in tools.
    pub fn tools(&self) -> Vec<FunctionTool> {
        let background = self.clone();
        let run = move |arguments: BackgroundRun, context: CallContext| {
            let background = background.clone();
            async move { background.run(arguments, &context).await }
        };
        let tool = FunctionTool::new("background_run", DESCRIPTION, run)
            .with_risk(Risk::Low)
            .with_output::<RunOutput>()
            .with_aliases(["async", "background task", "lancer en arrière-plan", "tâche de fond"])
            .with_metadata("operational", true)
            .with_metadata("presence", "essential")
            .with_metadata("target", json!({"name": "tool"}))
            .with_metadata("timeout_seconds", MAX_TASK_WAIT.as_secs() + SLACK_SECONDS);
        vec![tool]
    }

    async fn run(&self, arguments: BackgroundRun, context: &CallContext) -> Result<RunOutput, ToolError> {
        let status = match arguments.mode()? {
            RunMode::Launch { tool, params } => self.launch(ToolCall::new(tool, params), context).await?,
            RunMode::Status { id } => self.status(&id, context).await?,
            RunMode::Wait { id, time } => self.wait(&id, time, context).await?,
            RunMode::Cancel { id } => self.cancel(&id, context).await?,
            RunMode::List => return Ok(RunOutput::Tasks { tasks: self.list(context).await }),
        };
        Ok(RunOutput::Task(Box::new(status)))
    }
}
