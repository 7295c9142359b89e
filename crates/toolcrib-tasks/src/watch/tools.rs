//! The watcher tools.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;
use toolcrib_model::{Risk, ToolError};
use toolcrib_sdk::{CallContext, FunctionTool};

use super::{MAX_WATCH_HISTORY, WatchRequest, WatcherCheck, WatcherStatus, Watchers};
use crate::ActionSupport;

/// The default number of checks in a history.
const DEFAULT_HISTORY: usize = 20;

/// One watcher.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WatcherArguments {
    /// The watcher, by the id that `watch_start` gave.
    watcher_id: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListWatchers {}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct HistoryArguments {
    /// The watcher, by the id that `watch_start` gave.
    watcher_id: String,
    /// The number of checks to show.
    #[serde(default = "default_history")]
    #[schemars(range(min = 1, max = MAX_WATCH_HISTORY))]
    limit: usize,
}

const fn default_history() -> usize {
    DEFAULT_HISTORY
}

/// All watchers.
#[derive(Debug, Serialize, JsonSchema)]
struct WatcherList {
    /// In the order in which they were started, without their results.
    watchers: Vec<WatcherStatus>,
}

/// The checks of a watcher.
#[derive(Debug, Serialize, JsonSchema)]
struct WatcherHistory {
    watcher_id: String,
    /// The checks since the program started, the last one first.
    checks: Vec<WatcherCheck>,
}

impl Watchers {
    /// Returns the watcher tools, as functions for the namespace of the runtime's built-in tools.
    pub fn tools(&self) -> Vec<FunctionTool> {
        let services = &self.inner.ledger.services;
        let means =
            ActionSupport { agents: services.prompter().is_some(), channels: services.has_channels() };
        let own = |tool: FunctionTool| {
            let tool = tool.with_risk(Risk::Low).with_metadata("operational", true);
            tool.with_metadata("presence", "on_demand").with_parameters(|schema| means.fit(schema))
        };
        self.changing_tools().into_iter().chain(self.reading_tools()).map(own).collect()
    }

    fn changing_tools(&self) -> [FunctionTool; 4] {
        let start = self.tool(
            "watch_start",
            "Call a tool repeatedly in the background, and be notified when its result changes, fails or meets a condition; \
            actions can follow. Gives a `watcher_id`",
            async |watchers, request: WatchRequest, context| watchers.start(request, &context).await,
        );
        let stop = self.tool(
            "watch_stop",
            "Stop and remove a watcher",
            async |watchers, of: WatcherArguments, context| watchers.stop(&of.watcher_id, &context).await,
        );
        let pause = self.tool(
            "watch_pause",
            "Pause a watcher until `watch_resume`",
            async |watchers, of: WatcherArguments, context| watchers.pause(&of.watcher_id, &context).await,
        );
        let resume = self.tool(
            "watch_resume",
            "Resume a watcher that is paused, or has paused itself after errors",
            async |watchers, of: WatcherArguments, context| watchers.unpause(&of.watcher_id, &context).await,
        );
        [
            start
                .with_side_effects(["starts a watcher"])
                .with_metadata("target", json!({"name": "name"}))
                .with_aliases(["monitor", "poll", "surveiller", "alerte"])
                .with_metadata("former_arguments", json!({"predicate": "condition"})),
            stop.with_side_effects(["stops a watcher"]).with_aliases([
                "stop monitoring",
                "remove watcher",
                "arrêter la surveillance",
            ]),
            pause
                .with_side_effects(["pauses a watcher"])
                .with_aliases(["pause monitoring", "suspendre la surveillance"]),
            resume
                .with_side_effects(["resumes a watcher"])
                .with_aliases(["resume monitoring", "reprendre la surveillance"]),
        ]
    }

    fn reading_tools(&self) -> [FunctionTool; 3] {
        let status = self.tool(
            "watch_status",
            "Show the status of a watcher: its state, its last result or error, its metrics, its next check",
            async |watchers, of: WatcherArguments, context| watchers.status(&of.watcher_id, &context).await,
        );
        let list = self.tool(
            "watch_list",
            "List your watchers and their status",
            async |watchers, ListWatchers {}, context| {
                Ok(WatcherList { watchers: watchers.list(&context).await })
            },
        );
        let history = self.tool(
            "watch_history",
            "Show the last checks of a watcher: times, outcomes, and notifications",
            async |watchers, HistoryArguments { watcher_id, limit }, context| {
                let mut checks = watchers.history(&watcher_id, &context)?;
                checks.truncate(limit);
                Ok(WatcherHistory { watcher_id, checks })
            },
        );
        [
            status.with_aliases(["watcher metrics", "état de la surveillance"]),
            list.with_aliases(["list monitors", "lister les surveillances"]),
            history
                .with_aliases(["check results", "historique de la surveillance"])
                .with_metadata("former_arguments", json!({"last_n": "limit"})),
        ]
    }

    /// Returns a tool that operates on the watchers.
    fn tool<A, T, R>(
        &self,
        name: &str,
        description: &str,
        act: impl Fn(Self, A, CallContext) -> R + Send + Sync + 'static,
    ) -> FunctionTool
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        T: Serialize + JsonSchema,
        R: Future<Output = Result<T, ToolError>> + Send + 'static,
    {
        let watchers = self.clone();
        let act = move |arguments: A, context| act(watchers.clone(), arguments, context);
        FunctionTool::new(name, description, act).with_output::<T>()
    }
}
