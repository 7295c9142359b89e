//! `tools.apps`: other apps as tools of this one.

use std::num::{NonZeroU32, NonZeroU64};

use schemars::JsonSchema;
use serde::Deserialize;
use toolcrib_agent::app_pool::CALL_APP;
use toolcrib_policy::{Policy, Principal};
use toolcrib_registry::Snapshot;

use crate::AppConfig;
use crate::sections::values::some_amount;

/// The maximum depth of apps that call apps, without the first one.
pub(crate) const MAX_APP_DEPTH: usize = 3;

/// The most apps that an app may call.
pub(crate) const MAX_APPS: usize = 16;

/// One entry of `tools.apps`: an app that agents can delegate to.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct CalledAppConfig {
    /// The app file, relative to this one.
    pub path: String,
    /// The purpose of the app, for agents. By default its `app.description`.
    pub description: Option<String>,
    /// The maximum number of turns of one call, within `runtime.max_turns` of both apps.
    pub max_turns: Option<NonZeroU32>,
    /// The maximum number of tokens of one call, within the limits of both apps.
    pub max_tokens: Option<NonZeroU64>,
    /// The maximum cost of one call, within the limits of both apps.
    #[serde(default, deserialize_with = "some_amount")]
    pub max_cost: Option<f64>,
    /// The maximum number of seconds of one call, within the limits of both apps.
    pub max_seconds: Option<NonZeroU32>,
}

/// Warns where apps are named and no agent may call them.
pub(crate) fn uncalled(config: &AppConfig, policy: &Policy, snapshot: &Snapshot) -> Option<String> {
    if config.tools.apps.is_empty() || config.agents.is_empty() {
        return None;
    }
    let mut tools = snapshot.iter().map(|entry| entry.tool.as_ref());
    let tool = tools.find(|tool| tool.name.is_of_runtime() && tool.name.name() == CALL_APP)?;
    let may_call = |id: &str| policy.is_visible(tool, Principal::new("").with_agent(id));
    let is_callable = config.agents.iter().any(|agent| may_call(&agent.id));
    (!is_callable).then(|| {
        "`tools.apps` names apps, and no agent may call them; add `{module: context_builder, actions: [call_app]}` to \
         `tools.capabilities.grant`"
            .to_owned()
    })
}
