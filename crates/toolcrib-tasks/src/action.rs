//! What a task does when its time has come.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use toolcrib_model::{ErrorKind, JsonObject, ToolCall, ToolError};
use toolcrib_port::PhaseTracker;

use crate::Services;
use crate::owner::Owner;

/// What is done when the time has come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Action {
    /// Tell something.
    Notification {
        /// What.
        message: String,
        /// By which channel; in the conversation when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        channel: Option<String>,
    },
    /// Call a tool.
    ToolCall {
        /// Its name, as `namespace.name`.
        tool: String,
        /// Its arguments.
        #[serde(default)]
        params: JsonObject,
    },
    /// Give an agent a prompt, whose answer is told.
    LlmPrompt {
        /// The prompt.
        prompt: String,
    },
}

impl Action {
    /// What can be known to be wrong with it before it is done.
    pub(crate) fn check(&self, services: &Services) -> Result<(), ToolError> {
        match self {
            Self::Notification { channel: Some(channel), .. } => services.channel(channel).map(drop),
            Self::LlmPrompt { .. } if services.prompter().is_none() => Err(no_agent()),
            _ => Ok(()),
        }
    }

    /// Whether it does no harm when it is done a second time.
    pub(crate) fn may_repeat(&self, services: &Services, owner: &Owner) -> bool {
        match self {
            Self::Notification { .. } => true,
            Self::ToolCall { tool, params } => services.entrance().is_ok_and(|entrance| {
                entrance.may_repeat(&ToolCall::new(tool, params.clone()), &owner.context())
            }),
            Self::LlmPrompt { .. } => false,
        }
    }
}

impl Services {
    /// Does it, in somebody's name. A call goes in by the one entrance, and policy is asked now.
    pub(crate) async fn act(
        &self,
        owner: &Owner,
        action: &Action,
        run_key: &str,
        cancel: &CancellationToken,
        phase: &PhaseTracker,
    ) -> Result<Value, ToolError> {
        let mut context = owner.action_context().with_cancel(cancel.clone()).with_run_key(run_key);
        context.phase = phase.clone();
        self.entrance()?.admit(&context)?;
        match action {
            Action::Notification { message, channel } => {
                self.tell(owner, channel.as_deref(), message, Some(run_key)).await?;
                Ok(Value::Null)
            }
            Action::ToolCall { tool, params } => {
                let call = ToolCall::new(tool, params.clone()).with_call_id(run_key);
                let result = self.entrance()?.call(call, &context).await;
                match result.error {
                    None => Ok(result.result),
                    Some(error) => Err(error),
                }
            }
            Action::LlmPrompt { prompt } => {
                let prompter = self.prompter().ok_or_else(no_agent)?;
                let answer = prompter.prompt(prompt, &context).await?;
                self.tell(owner, None, &answer, Some(run_key)).await?;
                Ok(Value::String(answer))
            }
        }
    }
}

fn no_agent() -> ToolError {
    ToolError::new(ErrorKind::Unavailable, "there is no agent here that could be given a prompt")
        .with_hint("use `notification` or `tool_call`")
}
