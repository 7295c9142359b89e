//! `send_message`: an agent sends a message through a channel.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_model::{ErrorKind, Risk, ToolError};
use toolcrib_sdk::{CallContext, FunctionTool};

use super::{DELIVERY_TIME, MAX_MESSAGE_CHARS};
use crate::Services;
use crate::id::random_id;

/// The bare name of the tool.
pub const SEND_MESSAGE: &str = "send_message";

/// The time that a call may take in addition to a delivery, in seconds.
const SLACK_SECONDS: u64 = 10;

const DESCRIPTION: &str = "Send a message now by one of the channels of the app. It leaves the conversation: people or \
                           programs read it elsewhere";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SendMessage {
    /// The name of the channel.
    channel: String,
    /// The text.
    #[schemars(length(min = 1, max = MAX_MESSAGE_CHARS))]
    message: String,
}

/// A message that was delivered.
#[derive(Debug, Serialize, JsonSchema)]
struct Delivery {
    status: Status,
    /// The channel.
    channel: String,
    /// The id that the receiver knows the message by.
    message_id: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Status {
    Sent,
}

/// Returns `send_message` for the channels of these services, as a function for the namespace of the runtime's built-in
/// tools. Agents see it only if a rule grants it.
pub fn channel_tools(services: &Arc<Services>) -> Vec<FunctionTool> {
    if !services.has_channels() {
        return Vec::new();
    }
    let services = Arc::clone(services);
    let send = move |arguments: SendMessage, context: CallContext| {
        let services = Arc::clone(&services);
        async move { services.send_now(arguments, context).await }
    };
    let tool = FunctionTool::new(SEND_MESSAGE, DESCRIPTION, send)
        .with_risk(Risk::Medium)
        .with_output::<Delivery>()
        .with_side_effects(["sends a message"])
        .with_aliases(["notify", "tell", "post a message", "envoyer un message", "notifier"])
        .with_metadata("operational", true)
        .with_metadata("exposed_when_granted", true)
        // A webhook retries for a while.
        .with_metadata("timeout_seconds", DELIVERY_TIME.as_secs() + SLACK_SECONDS);
    vec![tool]
}

impl Services {
    /// Sends a message on behalf of the caller, with the key of its run if it has one.
    async fn send_now(
        &self,
        SendMessage { channel, message }: SendMessage,
        mut context: CallContext,
    ) -> Result<Delivery, ToolError> {
        if message.trim().is_empty() {
            return Err(ToolError::new(ErrorKind::InvalidArgs, "`message` is empty"));
        }
        self.channel(&channel).map_err(|error| error.with_hint(self.channel_hint()))?;
        let message_id = match &context.run_key {
            Some(key) => key.as_ref().to_owned(),
            None => random_id("message")
                .map_err(|error| ToolError::new(ErrorKind::Internal, error.to_string()))?,
        };
        context.run_key = Some(message_id.as_str().into());
        self.send(&channel, &message, context).await?;
        Ok(Delivery { status: Status::Sent, channel, message_id })
    }
}
