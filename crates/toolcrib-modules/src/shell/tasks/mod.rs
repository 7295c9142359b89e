//! Background tasks: programs that outlive the calls that started them.

mod registry;
mod task;

use std::num::NonZeroU32;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_model::ToolError;
use toolcrib_sdk::CallContext;

use super::run::ExitInfo;

#[cfg(test)]
pub(crate) use registry::MAX_ENDED_TASKS;
pub(super) use registry::TaskRegistry;
use task::BackgroundTask;
pub use task::MAX_LOG_BYTES;

/// The maximum size of the output in one result, in bytes.
pub const MAX_PAGE_BYTES: usize = 16 * 1024;

/// The maximum time that a call waits for the end of a task, in seconds.
const MAX_WAIT_SECONDS: u32 = 300;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct BackgroundRun {
    /// The program, then each of its arguments as a separate word. No shell reads them.
    #[schemars(length(min = 1))]
    pub(super) argv: Vec<String>,
    /// The directory to run in, relative to the workspace; the workspace by default.
    pub(super) cwd: Option<String>,
    /// The text for standard input.
    pub(super) stdin: Option<String>,
    /// The time limit, in seconds; by default the maximum that the operator allows.
    pub(super) timeout_seconds: Option<NonZeroU32>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TaskStatus {
    /// The task, as `background_run` named it.
    task: String,
    /// The offset in its output to begin at, in bytes: the `next_offset` of an earlier call, or 0. Its last page by
    /// default.
    offset: Option<u64>,
    /// The time to wait for its end, in seconds.
    #[serde(default)]
    #[schemars(range(max = MAX_WAIT_SECONDS))]
    wait_seconds: u32,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TaskStop {
    /// The task, as `background_run` named it.
    task: String,
}

/// A started task.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct StartedTask {
    /// The name by which other tools refer to it.
    pub(super) task: String,
}

/// The state of a task.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct TaskSummary {
    task: String,
    /// The program and its first arguments.
    command: String,
    /// True if it is running.
    running: bool,
    /// Its exit.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<ExitInfo>,
    /// The reason why it did not run to its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// Its run time so far.
    seconds: f64,
}

/// The state of a task, with a part of its output.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct TaskReport {
    #[serde(flatten)]
    status: TaskSummary,
    /// A part of its output, of both streams.
    output: String,
    /// The offset of the part, in bytes.
    offset: u64,
    /// The offset at which to continue.
    next_offset: u64,
    /// The size of its output so far, in bytes.
    total_bytes: u64,
    /// Further remarks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    notes: Vec<String>,
}

/// The tasks of a session.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct TaskList {
    /// The tasks, the latest last.
    tasks: Vec<TaskSummary>,
}

pub(super) async fn status(
    tasks: &TaskRegistry,
    context: &CallContext,
    arguments: TaskStatus,
) -> Result<TaskReport, ToolError> {
    let task = tasks.find(&arguments.task, &context.session)?;
    let wait = Duration::from_secs(arguments.wait_seconds.min(MAX_WAIT_SECONDS).into());
    if !wait.is_zero() {
        // On a timeout, the result is the current state.
        let _ = tokio::time::timeout(wait, task.ended()).await;
    }
    let (status, slice) = (summary(&task), task.slice(arguments.offset, MAX_PAGE_BYTES));
    let mut notes = Vec::new();
    if let Some(offset) = arguments.offset.filter(|offset| *offset < slice.offset) {
        notes.push(format!(
            "bytes {offset} to {} are gone: only the last {MAX_LOG_BYTES} are kept",
            slice.offset
        ));
    }
    Ok(TaskReport {
        status,
        output: slice.text,
        offset: slice.offset,
        next_offset: slice.next,
        total_bytes: slice.end,
        notes,
    })
}

pub(super) async fn stop(
    tasks: &TaskRegistry,
    context: &CallContext,
    arguments: TaskStop,
) -> Result<TaskReport, ToolError> {
    let task = tasks.find(&arguments.task, &context.session)?;
    task.stop();
    task.ended().await;
    status(tasks, context, TaskStatus { task: arguments.task, offset: None, wait_seconds: 0 }).await
}

pub(super) fn list(tasks: &TaskRegistry, context: &CallContext) -> TaskList {
    TaskList { tasks: tasks.of_session(&context.session).iter().map(|task| summary(task)).collect() }
}

fn summary(task: &BackgroundTask) -> TaskSummary {
    let (ended, error) = match task.outcome() {
        None => (None, None),
        Some(Ok(end)) => (Some(end), None),
        Some(Err(error)) => (None, Some(error)),
    };
    let seconds = ended.as_ref().map_or_else(|| task.seconds(), |end| end.seconds);
    let running = ended.is_none() && error.is_none();
    TaskSummary {
        task: task.id().to_owned(),
        command: task.command().to_owned(),
        running,
        ended,
        error,
        seconds,
    }
}
