//! Apps that agents of another app can call.
//!
//! A called app has its own agent, tools, policy and records. It gets nothing from the caller but a prompt and the rest
//! of its budget, and returns nothing but an answer and its cost.

mod approver;
mod run;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use toolcrib_model::Risk;
use toolcrib_port::ToolCaller;
use toolcrib_sdk::{CallContext, FunctionTool};

use self::run::{CallApp, CalledReport};
use crate::{Agent, ChatModel};

pub use self::approver::AppApprover;

/// The number of called apps that run at the same time.
const MAX_RUNNING_APPS: usize = 4;

/// The bare name of the tool that calls apps.
pub const CALL_APP: &str = "call_app";

/// The time that running apps have to end when the caller is closed.
const CLOSE_WAIT: Duration = Duration::from_secs(5);

/// An app that agents can call.
#[async_trait]
pub trait CallableApp: Send + Sync {
    /// Returns a description on one line; empty if it has none.
    fn about(&self) -> &str;

    /// Returns the agent that works for a session of the caller. The first call starts the app; where that fails, the
    /// next one tries again.
    ///
    /// # Errors
    ///
    /// Returns a message for the log of the caller.
    async fn agent(&self, session: &str) -> Result<AppAgent, String>;

    /// Ends a session and drops its state.
    async fn end_session(&self, session: &str);

    /// Ends the app, if it was started.
    async fn close(&self);
}

/// The agent of a called app.
pub struct AppAgent {
    /// The agent.
    pub agent: Agent,
    /// The model of the agent.
    pub model: Arc<dyn ChatModel>,
    /// The caller for its tools.
    pub caller: Arc<dyn ToolCaller>,
    /// The reason why a recording is used that was not requested.
    pub notice: Option<String>,
}

/// The apps that an app calls. Clones share them.
#[derive(Clone)]
pub struct AppPool {
    inner: Arc<Inner>,
}

struct Inner {
    apps: BTreeMap<String, Box<dyn CallableApp>>,
    running: Semaphore,
    closing: CancellationToken,
}

impl AppPool {
    /// Creates a pool of apps by name.
    pub fn new(apps: BTreeMap<String, Box<dyn CallableApp>>) -> Self {
        let (running, closing) = (Semaphore::new(MAX_RUNNING_APPS), CancellationToken::new());
        Self { inner: Arc::new(Inner { apps, running, closing }) }
    }

    /// Returns the tool that calls apps, where there are any. It is there for agents that a rule grants it.
    pub fn tools(&self) -> Vec<FunctionTool> {
        if self.inner.apps.is_empty() {
            return Vec::new();
        }
        let apps = self.inner.apps.iter().map(|(name, called)| match called.about() {
            "" => name.clone(),
            about => format!("{name} ({about})"),
        });
        let description = format!(
            "Give another app a task and wait for its answer. It has its own agent and tools, and sees nothing of this \
             conversation. The apps: {}",
            apps.collect::<Vec<_>>().join("; ")
        );
        let apps = self.clone();
        let tool =
            FunctionTool::new(CALL_APP, description, move |arguments: CallApp, context: CallContext| {
                let apps = apps.clone();
                async move { apps.call(arguments, context).await }
            });
        vec![
            tool.with_risk(Risk::Medium)
                .with_output::<CalledReport>()
                .with_side_effects(["runs another app"])
                .with_aliases(["sub app", "other app", "appeler une application"])
                .with_metadata("operational", true)
                .with_metadata("runs_others", true)
                .with_metadata("exposed_when_granted", true)
                // It bounds its time itself, and may have to wait for an approval.
                .with_metadata("awaits_user", true),
        ]
    }

    /// Ends a session and drops its state.
    pub async fn end_session(&self, session: &str) {
        for app in self.inner.apps.values() {
            app.end_session(session).await;
        }
    }

    /// Ends the apps that were started.
    pub async fn close(&self) {
        self.inner.closing.cancel();
        // What has not ended by then ends with its runtime.
        let all = u32::try_from(MAX_RUNNING_APPS).unwrap_or(u32::MAX);
        let _ = tokio::time::timeout(CLOSE_WAIT, self.inner.running.acquire_many(all)).await;
        for app in self.inner.apps.values() {
            app.close().await;
        }
    }
}
