//! Inputs of a function other than its arguments.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;
use toolcrib_model::{ErrorKind, JsonObject, ToolError};
use toolcrib_port::CallContext;

use crate::Tools;

/// Inputs of a function other than its arguments, which models neither see nor set.
#[derive(Clone)]
#[non_exhaustive]
pub struct Inputs {
    /// The context of the call.
    pub context: CallContext,
    /// The configuration of the module.
    pub config: Arc<JsonObject>,
}

impl Inputs {
    pub(crate) fn new(context: CallContext, config: Arc<JsonObject>) -> Self {
        Self { context, config }
    }

    /// Returns the tools that the call may look at and call in turn.
    pub fn tools(&self) -> Tools {
        Tools::new(&self.context)
    }

    /// Returns what the runtime knows of the call under this key: `session`, `conversation`, `user`, `message`, `thread`,
    /// `agent`, `scope`, which is all that an embedder says of the caller as a map of texts, or `scope.KEY`, one text of it.
    ///
    /// # Errors
    ///
    /// Where it is not known, unless `T` is an `Option`.
    pub fn of_context<T: DeserializeOwned>(&self, key: &str) -> Result<T, ToolError> {
        let text = |text: &Option<Arc<str>>| text.as_deref().map_or(Value::Null, Value::from);
        let context = &self.context;
        let value = match key {
            "session" => context.session.as_ref().into(),
            "conversation" => text(&context.conversation),
            "user" => text(&context.user),
            "message" => text(&context.message),
            "thread" => text(&context.thread),
            "agent" => text(&context.agent),
            "scope" => {
                context.scope.iter().map(|(key, value)| (key.to_owned(), Value::from(value))).collect()
            }
            _ => {
                let value = key.strip_prefix("scope.").and_then(|key| context.scope.get(key));
                value.map_or(Value::Null, Value::from)
            }
        };
        T::deserialize(value).map_err(|_| {
            let message = format!("the {key} of this call is not known, and the tool does not work without");
            ToolError::new(ErrorKind::ToolFailed, message)
        })
    }

    /// Returns the value of a key in the module's configuration.
    ///
    /// # Errors
    ///
    /// Fails if the value is not a `T`, or is missing and `T` is not an `Option`.
    pub fn of_config<T: DeserializeOwned>(&self, key: &str) -> Result<T, ToolError> {
        let value = self.config.get(key).cloned().unwrap_or_default();
        T::deserialize(value).map_err(|error| {
            let message = format!("the configuration of this module does not fit under `{key}`: {error}");
            ToolError::new(ErrorKind::ToolFailed, message).with_hint("only the operator can mend that")
        })
    }
}
