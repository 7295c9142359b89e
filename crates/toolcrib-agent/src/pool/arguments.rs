//! The arguments and results of the tools.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The maximum length of a task, in characters; about 5,000 tokens.
pub(crate) const MAX_TASK_CHARS: usize = 20_000;

/// The default time that one call waits.
const DEFAULT_WAIT: Duration = Duration::from_mins(5);

/// The maximum time that one call waits: less than the longest deadline of a call.
pub(crate) const MAX_WAIT: Duration = Duration::from_mins(9);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Spawn {
    /// The id of the agent.
    pub(super) agent: String,
    /// The task, with everything that the agent has to know: it sees nothing of this conversation.
    #[schemars(length(min = 1, max = MAX_TASK_CHARS))]
    pub(super) task: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Wait {
    /// The runs to wait for; leave it out for all that were started.
    #[serde(default)]
    pub(super) runs: Vec<String>,
    /// The longest time to wait, in seconds.
    #[serde(default = "default_wait")]
    #[schemars(range(min = 0, max = MAX_WAIT.as_secs()))]
    pub(super) timeout_seconds: u64,
}

fn default_wait() -> u64 {
    DEFAULT_WAIT.as_secs()
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Cancel {
    /// The run to end.
    pub(super) run: String,
}

/// The status of a run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(super) struct RunStatus {
    /// The id of the run.
    pub(super) run: String,
    /// The id of the agent.
    pub(super) agent: String,
    /// `running`, `waiting_for_approval`, `completed`, `truncated`, `refused`, `content_filter`, `invalid_output`,
    /// `limit_reached` or `failed`.
    pub(super) status: String,
    /// The report of a run that has ended: its answer as `text`, with `turns`, `calls` and `usage`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) report: Option<Value>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Runs {
    /// The runs, in the order in which they were started.
    pub(super) runs: Vec<RunStatus>,
}
