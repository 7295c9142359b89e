//! The arguments and results of the tools.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::notebook::{Fact, MAX_GOAL_CHARS, MAX_TASKS, MAX_TEXT_CHARS, Task, TaskState};
use super::recall::MAX_RECALLED;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SetGoal {
    /// The goal of this session; empty once it has been reached.
    #[schemars(length(max = MAX_GOAL_CHARS))]
    pub(super) goal: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SetTasks {
    /// All tasks, in the order in which they will be done. They replace the previous list.
    #[schemars(length(max = MAX_TASKS))]
    pub(super) tasks: Vec<NewTask>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewTask {
    /// The work to do.
    #[schemars(length(min = 1, max = MAX_TEXT_CHARS))]
    pub(super) title: String,
    /// The progress of the task.
    #[serde(default)]
    pub(super) status: TaskState,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct UpdateTask {
    /// The number of the task.
    pub(super) id: u64,
    /// The new progress of the task.
    pub(super) status: TaskState,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Remember {
    /// The fact, in words that can be understood without this conversation.
    #[schemars(length(min = 1, max = MAX_TEXT_CHARS))]
    pub(super) text: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Recall {
    /// Words of the wanted facts; leave it out for the latest ones.
    pub(super) query: Option<String>,
    /// The maximum number of facts to return.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = MAX_RECALLED))]
    pub(super) limit: usize,
}

/// Returns the default of [`Recall::limit`].
fn default_limit() -> usize {
    10
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Forget {
    /// The number of the fact.
    pub(super) id: u64,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Goal {
    /// The current goal; absent if no goal is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) goal: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct TasksOutput {
    /// The current tasks.
    pub(super) tasks: Vec<Task>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct RecallOutput {
    /// The goal; absent if no goal is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) goal: Option<String>,
    /// The tasks.
    pub(super) tasks: Vec<Task>,
    /// The facts that match, the best first.
    pub(super) facts: Vec<Fact>,
    /// The number of facts in all.
    pub(super) total: usize,
}
