//! What is to be watched, and what cannot be.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_model::{ErrorKind, JsonObject, ToolCall, ToolError};
use toolcrib_policy::RUNTIME_NAMESPACE;
use toolcrib_port::{CallContext, ToolCaller};

use super::template;
use crate::{Action, Condition, Services};

/// How many seconds lie between two checks at least.
pub const MIN_WATCH_INTERVAL: u64 = 5;

/// How many seconds lie between two checks at most.
pub const MAX_WATCH_INTERVAL: u64 = 3_600;

/// How many seconds lie between two checks where nothing is said.
pub const DEFAULT_WATCH_INTERVAL: u64 = 60;

/// How many actions may follow.
pub const MAX_WATCH_ACTIONS: usize = 3;

/// How long a label may be, in characters.
pub const MAX_WATCH_LABEL_CHARS: usize = 100;

/// How large a whole request may be, in bytes of JSON.
pub const MAX_WATCH_REQUEST_BYTES: usize = 16 * 1024;

/// What a model is told of conditions.
const CONDITION: &str = "Tell only when this holds for the result: `$.price < 5 and not $.status == 'sold'`, \
                         `$.tags contains 'new'`, `$.error exists`, `$.load changed by more than 10 %`";

/// A call that is made again and again, and what of its results is told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WatchRequest {
    /// The tool to call, as `namespace.name`.
    pub name: String,
    /// Its arguments.
    #[serde(default)]
    pub params: JsonObject,
    /// Seconds from one call to the next.
    #[serde(default = "default_interval")]
    #[schemars(range(min = MIN_WATCH_INTERVAL, max = MAX_WATCH_INTERVAL))]
    pub interval: u64,
    /// What it is for, in a few words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_WATCH_LABEL_CHARS))]
    pub label: Option<String>,
    /// End after so many calls; never where it is 0 or absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_checks: Option<u64>,
    /// When to tell.
    #[serde(default)]
    pub notify_when: NotifyWhen,
    /// Tell only when this [condition](Condition) holds for the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(description = CONDITION)]
    pub condition: Option<String>,
    /// What to do whenever it tells. In texts, `{{value}}` and `{{value.path}}` stand for the result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MAX_WATCH_ACTIONS))]
    pub actions: Vec<Action>,
    /// Tell by this channel and not in the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
}

/// When a watcher tells what it sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum NotifyWhen {
    /// The result is another one than before.
    #[default]
    OnChange,
    /// The call fails, in another way than before.
    OnError,
    /// The condition holds, and did not before.
    OnThreshold,
    /// Each time.
    Always,
    /// A digest of several calls at a time, and at the end.
    Summary,
}

const fn default_interval() -> u64 {
    DEFAULT_WATCH_INTERVAL
}

impl WatchRequest {
    /// To call a tool every minute, and to tell when its result changes.
    pub fn new(name: impl Into<String>, params: JsonObject) -> Self {
        Self {
            name: name.into(),
            params,
            interval: DEFAULT_WATCH_INTERVAL,
            label: None,
            max_checks: None,
            notify_when: NotifyWhen::default(),
            condition: None,
            actions: Vec::new(),
            channel: None,
        }
    }

    pub(super) fn call(&self) -> ToolCall {
        ToolCall::new(&self.name, self.params.clone())
    }

    pub(super) fn wait(&self) -> Duration {
        Duration::from_secs(self.interval)
    }

    /// Its condition, where it has one.
    pub(super) fn parsed_condition(&self) -> Result<Option<Condition>, ToolError> {
        let parsed = self.condition.as_deref().map(Condition::parse).transpose();
        parsed.map_err(|error| invalid(format!("`condition`: {error}")))
    }

    /// What can be known to be wrong with it before anything is called.
    pub(super) fn check(
        &self,
        services: &Services,
        entrance: &dyn ToolCaller,
        context: &CallContext,
    ) -> Result<Option<Condition>, ToolError> {
        if !(MIN_WATCH_INTERVAL..=MAX_WATCH_INTERVAL).contains(&self.interval) {
            let message = format!(
                "`interval` is {} s, and may be from {MIN_WATCH_INTERVAL} to {MAX_WATCH_INTERVAL}",
                self.interval
            );
            return Err(invalid(message));
        }
        let label = self.label.as_deref().unwrap_or_default().chars().count();
        if label > MAX_WATCH_LABEL_CHARS {
            let message = format!("`label` has {label} characters, and may have {MAX_WATCH_LABEL_CHARS}");
            return Err(invalid(message));
        }
        if self.actions.len() > MAX_WATCH_ACTIONS {
            let message =
                format!("{} `actions` are given, and {MAX_WATCH_ACTIONS} may be", self.actions.len());
            return Err(invalid(message));
        }
        // It came as JSON, so that it can be written as such.
        let bytes = serde_json::to_vec(self).map_or(usize::MAX, |json| json.len());
        if bytes > MAX_WATCH_REQUEST_BYTES {
            let message = format!("all arguments have {bytes} bytes, and may have {MAX_WATCH_REQUEST_BYTES}");
            return Err(invalid(message));
        }
        let condition = self.parsed_condition()?;
        match (self.notify_when, &condition) {
            (NotifyWhen::OnThreshold, None) => {
                return Err(invalid("`on_threshold` needs a `condition`".to_owned())
                    .with_hint("such as `$.price < 5` or `$.load changed by more than 10 %`"));
            }
            (NotifyWhen::OnError, Some(_)) => {
                return Err(invalid("`on_error` looks at no result, and takes no `condition`".to_owned())
                    .with_hint("leave one of them out, or use `on_threshold`"));
            }
            _ => {}
        }
        if let Some(channel) = &self.channel {
            services.channel(channel)?;
        }
        services.check_call(&self.call(), context)?;
        for (number, action) in (1..).zip(&self.actions) {
            check_action(action, services, entrance, context).map_err(|error| ToolError {
                message: format!("action {number}: {}", error.message),
                ..error
            })?;
        }
        Ok(condition)
    }
}

fn check_action(
    action: &Action,
    services: &Services,
    entrance: &dyn ToolCaller,
    context: &CallContext,
) -> Result<(), ToolError> {
    action.check(services)?;
    let is_filled = template::check(action).map_err(invalid)?;
    match action {
        // What is filled in is not known before there is a result.
        Action::ToolCall { tool, .. } if is_filled => takes_values(tool, entrance, context),
        Action::ToolCall { tool, params } => {
            services.check_call(&ToolCall::new(tool, params.clone()), context)
        }
        _ => Ok(()),
    }
}

/// Whether a tool may be given parts of a result. Those of the runtime may not: many of them call the tools that their
/// arguments name, and what a tool returned must not name one.
pub(super) fn takes_values(
    tool: &str,
    entrance: &dyn ToolCaller,
    context: &CallContext,
) -> Result<(), ToolError> {
    let found = entrance.find_tools(tool, context)?;
    if found.iter().all(|tool| tool.name.namespace() != RUNTIME_NAMESPACE) {
        return Ok(());
    }
    Err(invalid(format!("`{tool}` is not given parts of results: it may call what they name"))
        .with_hint("name the tool that is to be called as the `tool` of the action"))
}

pub(super) fn invalid(message: String) -> ToolError {
    ToolError::new(ErrorKind::InvalidArgs, message)
}
