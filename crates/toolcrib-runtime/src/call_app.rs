//! `tools.apps`: other apps as tools of this one.
//!
//! A called app has a separate runtime: agent, tools, policy and records. It gets nothing from the caller but a prompt and the
//! rest of its budget, and returns nothing but an answer and its cost.

mod approver;
mod run;

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{OnceCell, Semaphore};
use tokio_util::sync::CancellationToken;
use toolcrib_app::sections::apps::CalledAppConfig;
use toolcrib_app::{App, Blueprint, LaunchOptions};
use toolcrib_model::{Risk, Tool};
use toolcrib_policy::Principal;
use toolcrib_port::Approver;
use toolcrib_sdk::{CallContext, FunctionTool};

use self::approver::InApp;
use self::run::{CallApp, CalledReport};
use crate::services::{AppServices, is_own};
use crate::{Error, Runtime};

/// The number of called apps that run at the same time.
const MAX_RUNNING_APPS: usize = 4;

/// The time that running apps have to end when the caller is closed.
const CLOSE_WAIT: Duration = Duration::from_secs(5);

/// The length of an app's description in the tool definition, in characters.
const MAX_ABOUT_CHARS: usize = 300;

/// The bare name of the tool.
const CALL_APP: &str = "call_app";

/// The apps that an app calls, each started by its first call and kept until the end. Clones share them.
#[derive(Clone)]
pub(crate) struct Apps {
    inner: Arc<Inner>,
}

struct Inner {
    apps: BTreeMap<String, Called>,
    approver: Arc<dyn Approver>,
    running: Semaphore,
    closing: CancellationToken,
}

struct Called {
    app: App,
    options: LaunchOptions,
    /// The app as it was checked, for the first start.
    blueprint: Mutex<Option<Blueprint>>,
    about: String,
    runtime: OnceCell<Runtime>,
}

/// A future that says no more of itself: the runtime of an app holds those of others.
type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

impl Apps {
    /// Creates the apps of an app that is started, which ask this approver.
    pub(crate) fn new(
        called: BTreeMap<String, Blueprint>,
        entries: &BTreeMap<String, CalledAppConfig>,
        approver: &Arc<dyn Approver>,
    ) -> Self {
        let apps = called.into_iter().map(|(name, called)| {
            let about = entries.get(&name).and_then(|entry| entry.description.as_ref());
            let about = about.or(called.app.config.app.description.as_ref());
            let about = about.map(|about| about.split_whitespace().collect::<Vec<_>>().join(" "));
            let about = about.unwrap_or_default().chars().take(MAX_ABOUT_CHARS).collect();
            let (app, options) = (called.app.clone(), called.options);
            let (blueprint, runtime) = (Mutex::new(Some(called)), OnceCell::new());
            (name, Called { app, options, blueprint, about, runtime })
        });
        Self {
            inner: Arc::new(Inner {
                apps: apps.collect(),
                approver: Arc::clone(approver),
                running: Semaphore::new(MAX_RUNNING_APPS),
                closing: CancellationToken::new(),
            }),
        }
    }

    /// Returns the tool that calls apps, where there are any. It is there for agents that a rule grants it.
    pub(crate) fn tools(&self) -> Vec<FunctionTool> {
        if self.inner.apps.is_empty() {
            return Vec::new();
        }
        let apps = self.inner.apps.iter().map(|(name, called)| match called.about.as_str() {
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
    pub(crate) fn end_session<'a>(&'a self, session: &'a str) -> Boxed<'a, ()> {
        Box::pin(async move {
            for runtime in self.inner.apps.values().filter_map(|called| called.runtime.get()) {
                runtime.end_session(session).await;
            }
        })
    }

    /// Ends the apps that were started.
    pub(crate) fn close(&self) -> Boxed<'_, ()> {
        Box::pin(async move {
            self.inner.closing.cancel();
            // What has not ended by then ends with its runtime.
            let all = u32::try_from(MAX_RUNNING_APPS).unwrap_or(u32::MAX);
            let _ = tokio::time::timeout(CLOSE_WAIT, self.inner.running.acquire_many(all)).await;
            for runtime in self.inner.apps.values().filter_map(|called| called.runtime.get()) {
                runtime.close().await;
            }
        })
    }
}

impl Called {
    /// Returns the runtime of the app, which is started by the first who asks. Where it cannot be, the next one tries
    /// again.
    fn started<'a>(
        &'a self,
        name: &'a str,
        approver: &'a Arc<dyn Approver>,
    ) -> Boxed<'a, Result<&'a Runtime, Error>> {
        Box::pin(async move {
            let start = async || {
                let checked = self.blueprint.lock().take();
                let blueprint = checked.map_or_else(|| Blueprint::new(self.app.clone(), self.options), Ok)?;
                Runtime::start(blueprint, Arc::new(InApp::new(name, Arc::clone(approver)))).await
            };
            self.runtime.get_or_try_init(start).await
        })
    }
}

impl AppServices {
    /// Says so where apps are named and no agent may call them.
    pub(crate) fn uncalled_apps(&self) -> Option<String> {
        let config = &self.app.config;
        if config.tools.apps.is_empty() || config.agents.is_empty() {
            return None;
        }
        let snapshot = self.snapshot();
        let tools = || snapshot.iter().map(|entry| entry.tool.as_ref());
        let tool: &Tool = tools().find(|tool| is_own(tool, &[CALL_APP]))?;
        let may_call = |id: &str| self.executor.policy().is_visible(tool, Principal::new("").with_agent(id));
        let is_callable = config.agents.iter().any(|agent| may_call(&agent.id));
        (!is_callable).then(|| {
            "`tools.apps` names apps, and no agent may call them; add `{module: context_builder, actions: [call_app]}` to \
             `tools.capabilities.grant`"
                .to_owned()
        })
    }
}
