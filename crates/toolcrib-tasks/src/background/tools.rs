//! The tool of calls in the background.

use serde_json::json;
use toolcrib_model::{Risk, ToolCall, ToolError};
use toolcrib_sdk::{CallContext, FunctionTool};

use super::arguments::{BackgroundRun, Mode, Told};
use super::{Background, MAX_TASK_WAIT};

/// How much longer than its waiting a call may take, in seconds.
const SLACK_SECONDS: u64 = 30;

const DESCRIPTION: &str = "Run `tool` in the background: gives a `task_id`. With that: its status, or `wait`, or `cancel`. `list` all";

impl Background {
    /// `background_run`, as a function that belongs into the namespace of the runtime's own tools.
    pub fn tools(&self) -> Vec<FunctionTool> {
        let background = self.clone();
        let run = move |arguments: BackgroundRun, context: CallContext| {
            let background = background.clone();
            async move { background.run(arguments, &context).await }
        };
        let tool = FunctionTool::new("background_run", DESCRIPTION, run)
            .with_risk(Risk::Low)
            .with_output::<Told>()
            .with_aliases(["async", "background task", "lancer en arrière-plan", "tâche de fond"])
            .with_metadata("operational", true)
            .with_metadata("presence", "essential")
            .with_metadata("target", json!({"name": "tool"}))
            .with_metadata("timeout_seconds", MAX_TASK_WAIT.as_secs() + SLACK_SECONDS);
        vec![tool]
    }

    async fn run(&self, arguments: BackgroundRun, context: &CallContext) -> Result<Told, ToolError> {
        let status = match arguments.mode()? {
            Mode::Launch { tool, params } => self.launch(ToolCall::new(tool, params), context).await?,
            Mode::Status { id } => self.status(&id, context).await?,
            Mode::Wait { id, time } => self.wait(&id, time, context).await?,
            Mode::Cancel { id } => self.cancel(&id, context).await?,
            Mode::List => return Ok(Told::Tasks { tasks: self.list(context).await }),
        };
        Ok(Told::Task(Box::new(status)))
    }
}
