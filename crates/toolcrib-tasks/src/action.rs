//! The actions that tasks perform: notify, call a tool, or prompt an agent.

use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use toolcrib_model::{ErrorKind, JsonObject, ToolCall, ToolError};
use toolcrib_port::{CallJournal, PhaseTracker};

use crate::Services;
use crate::owner::Owner;
use crate::store::StoreError;

/// An action that a task performs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", try_from = "ActionForm")]
pub enum Action {
    /// Send a notification.
    Notification {
        /// The text.
        message: String,
        /// The channel to send it by; in the conversation when absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        channel: Option<String>,
    },
    /// Call a tool.
    ToolCall {
        /// Its name, as `namespace.name`.
        tool: String,
        /// Its arguments.
        params: JsonObject,
    },
    /// Prompt an agent, and send its answer as a notification.
    LlmPrompt {
        /// The prompt.
        prompt: String,
    },
}

/// An action as models write it. Its type may be left out, since the other arguments decide it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(description = "What to do: one of these.")]
#[schemars(extend("examples" = [{"message": "Stand up!"}, {"tool": "shop.order", "params": {"amount": 1}}]))]
struct ActionForm {
    /// May be left out.
    #[serde(rename = "type", default)]
    #[schemars(with = "ActionKind")]
    kind: Option<ActionKind>,
    /// For a notification: what to tell.
    message: Option<String>,
    /// For a notification: by which channel; in the conversation otherwise.
    channel: Option<String>,
    /// For a tool call: the tool, as `namespace.name`.
    tool: Option<String>,
    /// For a tool call: its arguments.
    params: Option<JsonObject>,
    /// For an agent: what to ask it. Its answer is told.
    prompt: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ActionKind {
    Notification,
    ToolCall,
    LlmPrompt,
}

/// The journal of a call that is made again after a crash, even if it had begun.
pub(crate) struct RepeatableCall;

#[async_trait]
impl CallJournal for RepeatableCall {
    async fn record_start(&self) -> Result<(), ToolError> {
        Ok(())
    }
}

/// Returns the error of a call that does not run, since it would look as if it had not begun.
pub(crate) fn unrecorded_start(error: &StoreError) -> ToolError {
    ToolError::new(ErrorKind::Unavailable, format!("the start of the call cannot be recorded: {error}"))
        .with_hint("the call did not run; try again later")
}

/// The reason why an action cannot be read, with the forms that can.
const UNCLEAR: &str = "it is not clear what an action is to do. Give one of these forms: {\"message\": \"Stand up!\"} to tell \
                       something; {\"tool\": \"shop.order\", \"params\": {\"amount\": 1}} to call a tool";

impl TryFrom<ActionForm> for Action {
    type Error = &'static str;

    fn try_from(form: ActionForm) -> Result<Self, Self::Error> {
        let ActionForm { kind, message, channel, tool, params, prompt } = form;
        let (meant, action) = match (message, channel, tool, params, prompt) {
            (Some(message), channel, None, None, None) => {
                (ActionKind::Notification, Self::Notification { message, channel })
            }
            (None, None, Some(tool), params, None) => {
                (ActionKind::ToolCall, Self::ToolCall { tool, params: params.unwrap_or_default() })
            }
            (None, None, None, None, Some(prompt)) => (ActionKind::LlmPrompt, Self::LlmPrompt { prompt }),
            _ => return Err(UNCLEAR),
        };
        if kind.is_some_and(|kind| kind != meant) { Err(UNCLEAR) } else { Ok(action) }
    }
}

impl Action {
    /// Checks that the services which the action needs exist.
    pub(crate) fn check(&self, services: &Services) -> Result<(), ToolError> {
        match self {
            Self::Notification { channel: Some(channel), .. } => services.channel(channel).map(drop),
            Self::LlmPrompt { .. } if services.prompter().is_none() => Err(no_agent()),
            _ => Ok(()),
        }
    }

    /// Returns true if a journal records when the action begins. Otherwise it begins with its run.
    pub(crate) fn records_start(&self) -> bool {
        matches!(self, Self::ToolCall { .. })
    }

    /// Returns true if the action may be performed a second time.
    pub(crate) fn may_repeat(&self, services: &Services, owner: &Owner) -> bool {
        match self {
            Self::Notification { .. } => true,
            Self::ToolCall { tool, params } => services.tool_caller().is_ok_and(|tool_caller| {
                tool_caller.catalogue().may_repeat(&ToolCall::new(tool, params.clone()), &owner.context())
            }),
            Self::LlmPrompt { .. } => false,
        }
    }
}

impl Services {
    /// Performs an action on behalf of its owner. `start` records that a call which may not be repeated begins. Policy is evaluated at the time of the call, not of the request.
    pub(crate) async fn perform(
        &self,
        owner: &Owner,
        action: &Action,
        run_key: &str,
        cancel: &CancellationToken,
        phase: &PhaseTracker,
        start: Arc<dyn CallJournal>,
    ) -> Result<Value, ToolError> {
        let mut context = owner.action_context().with_cancel(cancel.clone()).with_run_key(run_key);
        context.phase = phase.clone();
        self.tool_caller()?.catalogue().admit(&context)?;
        match action {
            Action::Notification { message, channel } => {
                self.notify(owner, channel.as_deref(), message, Some(run_key)).await?;
                Ok(Value::Null)
            }
            Action::ToolCall { tool, params } => {
                let call = ToolCall::new(tool, params.clone()).with_call_id(run_key);
                context.journal =
                    Some(if action.may_repeat(self, owner) { Arc::new(RepeatableCall) } else { start });
                let result = self.tool_caller()?.call(call, &context).await;
                match result.error {
                    None => Ok(result.result),
                    Some(error) => Err(error),
                }
            }
            Action::LlmPrompt { prompt } => {
                let prompter = self.prompter().ok_or_else(no_agent)?;
                let answer = prompter.prompt(prompt, &context).await?;
                self.notify(owner, None, &answer, Some(run_key)).await?;
                Ok(Value::String(answer))
            }
        }
    }
}

fn no_agent() -> ToolError {
    ToolError::new(ErrorKind::Unavailable, "this app has no agent to prompt")
        .with_hint("use `notification` or `tool_call`")
}
