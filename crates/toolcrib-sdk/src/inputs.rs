//! What a function may want besides its arguments.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;
use toolcrib_model::{ErrorKind, JsonObject, ToolError};
use toolcrib_port::CallContext;

use crate::Tools;

/// What a function may want besides its arguments, and no model sees or sets.
#[derive(Clone)]
#[non_exhaustive]
pub struct Inputs {
    /// What the runtime knows of the call.
    pub context: CallContext,
    /// The configuration of the module.
    pub config: Arc<JsonObject>,
}

impl Inputs {
    pub(crate) fn new(context: CallContext, config: Arc<JsonObject>) -> Self {
        Self { context, config }
    }

    /// The tools that the call may look at and call in turn.
    pub fn tools(&self) -> Tools {
        Tools::new(&self.context)
    }

    /// What the runtime knows of the call under this key: `session`, `conversation`, `user` or `agent`.
    ///
    /// # Errors
    ///
    /// Where it is not known, unless `T` is an `Option`.
    pub fn of_context<T: DeserializeOwned>(&self, key: &str) -> Result<T, ToolError> {
        let known = match key {
            "session" => Some(&self.context.session),
            "conversation" => self.context.conversation.as_ref(),
            "user" => self.context.user.as_ref(),
            "agent" => self.context.agent.as_ref(),
            _ => None,
        };
        let value = known.map_or(Value::Null, |known| Value::from(known.as_ref()));
        T::deserialize(value).map_err(|_| {
            let message = format!("the {key} of this call is not known, and the tool does not work without");
            ToolError::new(ErrorKind::ToolFailed, message)
        })
    }

    /// What the configuration of the module says under this key.
    ///
    /// # Errors
    ///
    /// Where it says nothing, unless `T` is an `Option`, or something that is no `T`.
    pub fn of_config<T: DeserializeOwned>(&self, key: &str) -> Result<T, ToolError> {
        let value = self.config.get(key).cloned().unwrap_or_default();
        T::deserialize(value).map_err(|error| {
            let message = format!("the configuration of this module does not fit under `{key}`: {error}");
            ToolError::new(ErrorKind::ToolFailed, message).with_hint("only the operator can mend that")
        })
    }
}
