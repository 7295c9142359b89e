//! Requests for watchers and their validation.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_model::{ErrorKind, JsonObject, ToolCall, ToolError};
use toolcrib_policy::RUNTIME_NAMESPACE;
use toolcrib_port::{CallContext, Catalogue};

use super::template;
use crate::condition::Condition;
use crate::{Action, Services};

/// The minimum interval between two checks in seconds.
const MIN_WATCH_INTERVAL: u64 = 5;

/// The maximum interval between two checks in seconds.
const MAX_WATCH_INTERVAL: u64 = 3_600;

/// The default interval between two checks in seconds.
const DEFAULT_WATCH_INTERVAL: u64 = 60;

/// The maximum number of follow-up actions.
const MAX_WATCH_ACTIONS: usize = 3;

/// The maximum length of a label in characters.
const MAX_WATCH_LABEL_CHARS: usize = 100;

/// The maximum size of a request in bytes of JSON.
const MAX_WATCH_REQUEST_BYTES: usize = 16 * 1024;

/// The description of conditions for models.
const CONDITION: &str = "Notify only when this holds for the result: `$.price < 5 and not $.status == 'sold'`, \
                         `$.tags contains 'new'`, `$.error exists`, `$.load changed by more than 10 %`";

/// A call to repeat, and the notifications about its results.
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
    /// The purpose, in a few words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_WATCH_LABEL_CHARS))]
    pub label: Option<String>,
    /// Ends after this number of calls; never if 0 or absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_checks: Option<u64>,
    /// The event to notify about.
    #[serde(default)]
    pub notify_when: NotifyWhen,
    /// Notifies only when this [condition](Condition) holds for the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(description = CONDITION)]
    pub condition: Option<String>,
    /// The actions for each notification. In texts, `{{value}}` and `{{value.path}}` insert the result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MAX_WATCH_ACTIONS))]
    pub actions: Vec<Action>,
    /// The channel to notify by instead of the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
}

/// The events about which a watcher notifies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum NotifyWhen {
    /// The result differs from the previous one.
    #[default]
    OnChange,
    /// The call fails, and the error differs from the previous one.
    OnError,
    /// The condition holds, and did not before.
    OnThreshold,
    /// Each call.
    Always,
    /// A summary after several calls, and at the end.
    Summary,
}

const fn default_interval() -> u64 {
    DEFAULT_WATCH_INTERVAL
}

impl WatchRequest {
    /// Creates a request to call a tool every minute and to notify when its result changes.
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

    /// Parses the condition, if there is one.
    pub(super) fn parsed_condition(&self) -> Result<Option<Condition>, ToolError> {
        let parsed = self.condition.as_deref().map(Condition::parse).transpose();
        parsed.map_err(|error| invalid(format!("`condition`: {error}")))
    }

    /// Validates the request, and returns its condition.
    pub(super) fn check(
        &self,
        services: &Services,
        catalogue: &dyn Catalogue,
        context: &CallContext,
    ) -> Result<Option<Condition>, ToolError> {
        if !(MIN_WATCH_INTERVAL..=MAX_WATCH_INTERVAL).contains(&self.interval) {
            let message = format!(
                "`interval` is {} s; expected {MIN_WATCH_INTERVAL} to {MAX_WATCH_INTERVAL}",
                self.interval
            );
            return Err(invalid(message));
        }
        let label = self.label.as_deref().unwrap_or_default().chars().count();
        if label > MAX_WATCH_LABEL_CHARS {
            let message = format!("`label` has {label} characters; the limit is {MAX_WATCH_LABEL_CHARS}");
            return Err(invalid(message));
        }
        if self.actions.len() > MAX_WATCH_ACTIONS {
            let message =
                format!("expected at most {MAX_WATCH_ACTIONS} `actions`, found {}", self.actions.len());
            return Err(invalid(message));
        }
        // It was parsed from JSON, so serialization succeeds.
        let bytes = serde_json::to_vec(self).map_or(usize::MAX, |json| json.len());
        if bytes > MAX_WATCH_REQUEST_BYTES {
            let message = format!("all arguments have {bytes} bytes; the limit is {MAX_WATCH_REQUEST_BYTES}");
            return Err(invalid(message));
        }
        let condition = self.parsed_condition()?;
        match (self.notify_when, &condition) {
            (NotifyWhen::OnThreshold, None) => {
                return Err(invalid("`on_threshold` needs a `condition`".to_owned())
                    .with_hint("such as `$.price < 5` or `$.load changed by more than 10 %`"));
            }
            (NotifyWhen::OnError, Some(_)) => {
                return Err(invalid(
                    "`on_error` does not evaluate results, and takes no `condition`".to_owned(),
                )
                .with_hint("leave one of them out, or use `on_threshold`"));
            }
            _ => {}
        }
        if let Some(channel) = &self.channel {
            services.channel(channel)?;
        }
        services.check_call(&self.call(), context)?;
        for (number, action) in (1..).zip(&self.actions) {
            check_action(action, services, catalogue, context).map_err(|error| ToolError {
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
    catalogue: &dyn Catalogue,
    context: &CallContext,
) -> Result<(), ToolError> {
    action.check(services)?;
    let is_filled = template::check(action).map_err(invalid)?;
    match action {
        // The arguments are not known before there is a result.
        Action::ToolCall { tool, .. } if is_filled => check_takes_values(tool, catalogue, context),
        Action::ToolCall { tool, params } => {
            services.check_call(&ToolCall::new(tool, params.clone()), context)
        }
        _ => Ok(()),
    }
}

/// Returns an error if a tool may not receive parts of a result. Built-in tools may not: many of them call the tools
/// that their arguments name, and a result must not choose a tool.
pub(super) fn check_takes_values(
    tool: &str,
    catalogue: &dyn Catalogue,
    context: &CallContext,
) -> Result<(), ToolError> {
    let found = catalogue.find_tools(tool, context)?;
    if found.iter().all(|tool| tool.name.namespace() != RUNTIME_NAMESPACE) {
        return Ok(());
    }
    Err(invalid(format!("`{tool}` cannot receive parts of results: it may call the tools that they name"))
        .with_hint("name the tool to call as the `tool` of the action"))
}

pub(super) fn invalid(message: String) -> ToolError {
    ToolError::new(ErrorKind::InvalidArgs, message)
}
