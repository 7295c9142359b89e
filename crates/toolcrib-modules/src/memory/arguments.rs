//! What the tools take and give.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::notebook::{Fact, MAX_GOAL_CHARS, MAX_TASKS, MAX_TEXT_CHARS, Status, Task};
use super::recall::MAX_RECALLED;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SetGoal {
    /// What is to be reached; empty when it has been.
    #[schemars(length(max = MAX_GOAL_CHARS))]
    pub(super) goal: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SetTasks {
    /// All tasks, in the order in which they will be done. They take the place of those that are there.
    #[schemars(length(max = MAX_TASKS))]
    pub(super) tasks: Vec<NewTask>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewTask {
    /// What is to be done.
    #[schemars(length(min = 1, max = MAX_TEXT_CHARS))]
    pub(super) title: String,
    /// How far it is.
    #[serde(default)]
    pub(super) status: Status,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct UpdateTask {
    /// The number of the task.
    pub(super) id: u64,
    /// How far it is now.
    pub(super) status: Status,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Remember {
    /// The fact, so that it can be understood by itself later.
    #[schemars(length(min = 1, max = MAX_TEXT_CHARS))]
    pub(super) text: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Recall {
    /// Words of the facts that are looked for; leave it out for the latest ones.
    pub(super) query: Option<String>,
    /// How many facts to return at most.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = MAX_RECALLED))]
    pub(super) limit: usize,
}

/// How many facts are returned where nothing is said.
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
    /// The goal as it is now; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) goal: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Tasks {
    /// The tasks as they are now.
    pub(super) tasks: Vec<Task>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Recalled {
    /// The goal; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) goal: Option<String>,
    /// The tasks.
    pub(super) tasks: Vec<Task>,
    /// The facts that fit, the best first.
    pub(super) facts: Vec<Fact>,
    /// How many facts there are in all.
    pub(super) total: usize,
}
