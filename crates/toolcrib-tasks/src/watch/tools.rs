//! The watcher tools.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use toolcrib_model::Risk;
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
        let watchers = self.clone();
        let start = FunctionTool::new(
            "watch_start",
            "Call a tool repeatedly in the background, and be notified when its result changes, fails or meets a condition; \
            actions can follow. Gives a `watcher_id`",
            move |request: WatchRequest, context: CallContext| {
                let watchers = watchers.clone();
                async move { watchers.start(request, &context).await }
            },
        )
        .with_output::<WatcherStatus>()
        .with_side_effects(["starts a watcher"])
        .with_metadata("target", json!({"name": "name"}))
        .with_aliases(["monitor", "poll", "surveiller", "alerte"])
        .with_metadata("former_arguments", json!({"predicate": "condition"}));
        let watchers = self.clone();
        let stop = FunctionTool::new(
            "watch_stop",
            "Stop and remove a watcher",
            move |WatcherArguments { watcher_id }, context: CallContext| {
                let watchers = watchers.clone();
                async move { watchers.stop(&watcher_id, &context).await }
            },
        )
        .with_output::<WatcherStatus>()
        .with_side_effects(["stops a watcher"])
        .with_aliases(["stop monitoring", "remove watcher", "arrêter la surveillance"]);
        let watchers = self.clone();
        let pause = FunctionTool::new(
            "watch_pause",
            "Pause a watcher until `watch_resume`",
            move |WatcherArguments { watcher_id }, context: CallContext| {
                let watchers = watchers.clone();
                async move { watchers.pause(&watcher_id, &context).await }
            },
        )
        .with_output::<WatcherStatus>()
        .with_side_effects(["pauses a watcher"])
        .with_aliases(["pause monitoring", "suspendre la surveillance"]);
        let watchers = self.clone();
        let resume = FunctionTool::new(
            "watch_resume",
            "Resume a watcher that is paused, or has paused itself after errors",
            move |WatcherArguments { watcher_id }, context: CallContext| {
                let watchers = watchers.clone();
                async move { watchers.unpause(&watcher_id, &context).await }
            },
        )
        .with_output::<WatcherStatus>()
        .with_side_effects(["resumes a watcher"])
        .with_aliases(["resume monitoring", "reprendre la surveillance"]);
        let all = [start, stop, pause, resume].into_iter().chain(self.readers());
        let services = &self.inner.services;
        let means =
            ActionSupport { agents: services.prompter().is_some(), channels: services.has_channels() };
        let own = |tool: FunctionTool| {
            let tool = tool.with_risk(Risk::Low).with_metadata("operational", true);
            tool.with_metadata("presence", "on_demand").with_parameters(|schema| means.fit(schema))
        };
        all.map(own).collect()
    }

    /// Returns the tools that only read.
    fn readers(&self) -> [FunctionTool; 3] {
        let watchers = self.clone();
        let status = FunctionTool::new(
            "watch_status",
            "Show the status of a watcher: its state, its last result or error, its metrics, its next check",
            move |WatcherArguments { watcher_id }, context: CallContext| {
                let watchers = watchers.clone();
                async move { watchers.status(&watcher_id, &context).await }
            },
        )
        .with_output::<WatcherStatus>()
        .with_aliases(["watcher metrics", "état de la surveillance"]);
        let watchers = self.clone();
        let list = FunctionTool::new(
            "watch_list",
            "List your watchers and their status",
            move |ListWatchers {}, context: CallContext| {
                let watchers = watchers.clone();
                async move { Ok(WatcherList { watchers: watchers.list(&context).await }) }
            },
        )
        .with_output::<WatcherList>()
        .with_aliases(["list monitors", "lister les surveillances"]);
        let watchers = self.clone();
        let history = FunctionTool::new(
            "watch_history",
            "Show the last checks of a watcher: times, outcomes, and notifications",
            move |HistoryArguments { watcher_id, limit }, context: CallContext| {
                let watchers = watchers.clone();
                async move {
                    let mut checks = watchers.history(&watcher_id, &context)?;
                    checks.truncate(limit);
                    Ok(WatcherHistory { watcher_id, checks })
                }
            },
        )
        .with_output::<WatcherHistory>()
        .with_aliases(["check results", "historique de la surveillance"])
        .with_metadata("former_arguments", json!({"last_n": "limit"}));
        [status, list, history]
    }
}
