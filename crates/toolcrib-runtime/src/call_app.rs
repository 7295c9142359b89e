//! `tools.apps`: other apps as tools of this one.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::sync::OnceCell;
use toolcrib_agent::app_pool::{AppAgent, AppApprover, CallableApp};
use toolcrib_agent::{Agent, AppPool};
use toolcrib_app::sections::apps::CalledAppConfig;
use toolcrib_app::{App, Blueprint, LaunchOptions};
use toolcrib_port::Approver;

use crate::{Error, Runtime};

/// The length of an app's description in the tool definition, in characters.
const MAX_ABOUT_CHARS: usize = 300;

/// An app that is called. Its first call starts it, and it is kept until the end.
struct Called {
    app: App,
    options: LaunchOptions,
    /// The app as it was checked, for the first start.
    blueprint: Mutex<Option<Blueprint>>,
    about: String,
    approver: Arc<dyn Approver>,
    runtime: OnceCell<Runtime>,
}

/// Returns the apps of an app that is started, which ask this approver.
pub(crate) fn pool(
    called: BTreeMap<String, Blueprint>,
    entries: &BTreeMap<String, CalledAppConfig>,
    approver: &Arc<dyn Approver>,
) -> AppPool {
    let apps = called.into_iter().map(|(name, called)| {
        let about = entries.get(&name).and_then(|entry| entry.description.as_ref());
        let about = about.or(called.app.config.app.description.as_ref());
        let about = about.map(|about| about.split_whitespace().collect::<Vec<_>>().join(" "));
        let about = about.unwrap_or_default().chars().take(MAX_ABOUT_CHARS).collect();
        let (app, options) = (called.app.clone(), called.options);
        let approver = Arc::new(AppApprover::new(&name, Arc::clone(approver)));
        let (blueprint, runtime) = (Mutex::new(Some(called)), OnceCell::new());
        let called: Box<dyn CallableApp> =
            Box::new(Called { app, options, blueprint, about, approver, runtime });
        (name, called)
    });
    AppPool::new(apps.collect())
}

impl Called {
    async fn try_agent(&self, session: &str) -> Result<AppAgent, Error> {
        let start = async || {
            let checked = self.blueprint.lock().take();
            let blueprint = checked.map_or_else(|| Blueprint::new(self.app.clone(), self.options), Ok)?;
            Runtime::start(blueprint, Arc::clone(&self.approver)).await
        };
        let runtime = self.runtime.get_or_try_init(start).await?;
        runtime.ask_server_profiles().await;
        let setup = runtime.agent_in(None, session)?;
        let chosen = runtime.model(&setup)?;
        let agent = Agent::new(setup.settings.clone());
        Ok(AppAgent { agent, model: chosen.model, caller: runtime.entrance(), notice: chosen.notice })
    }
}

#[async_trait]
impl CallableApp for Called {
    fn about(&self) -> &str {
        &self.about
    }

    async fn agent(&self, session: &str) -> Result<AppAgent, String> {
        self.try_agent(session).await.map_err(|error| error.to_string())
    }

    async fn end_session(&self, session: &str) {
        if let Some(runtime) = self.runtime.get() {
            runtime.end_session(session).await;
        }
    }

    async fn close(&self) {
        if let Some(runtime) = self.runtime.get() {
            runtime.close().await;
        }
    }
}
