//! The tools of watchers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use toolcrib_model::Risk;
use toolcrib_sdk::{CallContext, FunctionTool};

use super::{MAX_WATCH_HISTORY, WatchRequest, WatcherCheck, WatcherStatus, Watchers};
use crate::TaskMeans;

/// How many checks are told where nothing is said.
const DEFAULT_HISTORY: usize = 20;

/// One watcher.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct One {
    /// The watcher, by the id that `watch_start` gave.
    watcher_id: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct None {}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OneHistory {
    /// The watcher, by the id that `watch_start` gave.
    watcher_id: String,
    /// How many checks to tell of.
    #[serde(default = "default_history")]
    #[schemars(range(min = 1, max = MAX_WATCH_HISTORY))]
    limit: usize,
}

const fn default_history() -> usize {
    DEFAULT_HISTORY
}

/// All watchers.
#[derive(Debug, Serialize, JsonSchema)]
struct All {
    /// In the order in which they were started, without their results.
    watchers: Vec<WatcherStatus>,
}

/// The checks of a watcher.
#[derive(Debug, Serialize, JsonSchema)]
struct History {
    watcher_id: String,
    /// The last one first, as far as they were made since the program started.
    checks: Vec<WatcherCheck>,
}

impl Watchers {
    /// `watch_start` and its kin, as functions that belong into the namespace of the runtime's own tools.
    pub fn tools(&self) -> Vec<FunctionTool> {
        let watchers = self.clone();
        let start = FunctionTool::new(
            "watch_start",
            "Call a tool again and again in the background, and be told when its result changes, fails or fits a condition; \
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
            "Stop a watcher and forget it",
            move |One { watcher_id }, context: CallContext| {
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
            "Let a watcher check no more until `watch_resume`",
            move |One { watcher_id }, context: CallContext| {
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
            "Let a watcher go on that is paused, or has paused itself after errors",
            move |One { watcher_id }, context: CallContext| {
                let watchers = watchers.clone();
                async move { watchers.unpause(&watcher_id, &context).await }
            },
        )
        .with_output::<WatcherStatus>()
        .with_side_effects(["resumes a watcher"])
        .with_aliases(["resume monitoring", "reprendre la surveillance"]);
        let all = [start, stop, pause, resume].into_iter().chain(self.readers());
        let services = &self.inner.services;
        let means = TaskMeans { agents: services.prompter().is_some(), channels: services.has_channels() };
        let own = |tool: FunctionTool| {
            let tool = tool.with_risk(Risk::Low).with_metadata("operational", true);
            tool.with_metadata("presence", "on_demand").with_parameters(|schema| means.fit(schema))
        };
        all.map(own).collect()
    }

    /// Those that only look.
    fn readers(&self) -> [FunctionTool; 3] {
        let watchers = self.clone();
        let status = FunctionTool::new(
            "watch_status",
            "How a watcher stands: its state, its last result or error, its metrics, its next check",
            move |One { watcher_id }, context: CallContext| {
                let watchers = watchers.clone();
                async move { watchers.status(&watcher_id, &context).await }
            },
        )
        .with_output::<WatcherStatus>()
        .with_aliases(["watcher metrics", "état de la surveillance"]);
        let watchers = self.clone();
        let list = FunctionTool::new(
            "watch_list",
            "All your watchers, and how they stand",
            move |None {}, context: CallContext| {
                let watchers = watchers.clone();
                async move { Ok(All { watchers: watchers.list(&context).await }) }
            },
        )
        .with_output::<All>()
        .with_aliases(["list monitors", "lister les surveillances"]);
        let watchers = self.clone();
        let history = FunctionTool::new(
            "watch_history",
            "The last checks of a watcher: when, what came of each, and whether it was told",
            move |OneHistory { watcher_id, limit }, context: CallContext| {
                let watchers = watchers.clone();
                async move {
                    let mut checks = watchers.history(&watcher_id, &context)?;
                    checks.truncate(limit);
                    Ok(History { watcher_id, checks })
                }
            },
        )
        .with_output::<History>()
        .with_aliases(["check results", "historique de la surveillance"])
        .with_metadata("former_arguments", json!({"last_n": "limit"}));
        [status, list, history]
    }
}
