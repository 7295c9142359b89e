//! A turn of the model, and its faults.

use serde_json::Value;

/// One message of the assistant, as [`ModelServer`](crate::ModelServer) sends it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    pub(super) text: String,
    pub(super) calls: Vec<TurnCall>,
    /// The statuses of the attempts that are refused first.
    pub(super) refusals: Vec<u16>,
    pub(super) is_cut: bool,
}

/// A call as the model writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TurnCall {
    pub(super) name: String,
    pub(super) arguments: String,
}

impl Turn {
    /// Creates a message of text only.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// Creates a message that calls a function by its wire name.
    pub fn call(name: impl Into<String>, arguments: &Value) -> Self {
        Self::default().and_call(name, arguments)
    }

    /// Creates a message that calls a function with arguments that are sent unchanged, and need not be JSON.
    pub fn raw_call(name: impl Into<String>, arguments: impl Into<String>) -> Self {
        let call = TurnCall { name: name.into(), arguments: arguments.into() };
        Self { calls: vec![call], ..Self::default() }
    }

    /// Creates a message that calls a tool in its text, as models without function calling do.
    pub fn text_call(name: &str, arguments: &Value) -> Self {
        let name = Value::from(name);
        Self::text(format!(r#"<tool_call>{{"name": {name}, "arguments": {arguments}}}</tool_call>"#))
    }

    /// Adds a call to the message.
    pub fn and_call(mut self, name: impl Into<String>, arguments: &Value) -> Self {
        self.calls.push(TurnCall { name: name.into(), arguments: arguments.to_string() });
        self
    }

    /// Adds text before the calls of the message.
    pub fn saying(mut self, text: impl Into<String>) -> Self {
        self.text = text.into();
        self
    }

    /// Refuses one attempt with this status, such as 429, before the message is sent.
    pub fn refused_first(mut self, status: u16) -> Self {
        self.refusals.push(status);
        self
    }

    /// Breaks off the stream after the first piece of the content. An answer that is not streamed is sent whole.
    pub fn cut_off(mut self) -> Self {
        self.is_cut = true;
        self
    }
}
