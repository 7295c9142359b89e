//! What the model says in one turn, and what goes wrong on the way.

use serde_json::Value;

/// One message of the assistant, as [`ModelServer`](crate::ModelServer) sends it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    pub(super) text: String,
    pub(super) calls: Vec<TurnCall>,
    /// The statuses with which as many attempts are turned away first.
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
    /// A message of text only.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// A message that calls a function by its wire name.
    pub fn call(name: impl Into<String>, arguments: &Value) -> Self {
        Self::default().and_call(name, arguments)
    }

    /// A message that calls a function with arguments that are sent as they are, and need not be JSON.
    pub fn raw_call(name: impl Into<String>, arguments: impl Into<String>) -> Self {
        let call = TurnCall { name: name.into(), arguments: arguments.into() };
        Self { calls: vec![call], ..Self::default() }
    }

    /// A message that calls a tool in its text, as models do that know no functions.
    pub fn text_call(name: &str, arguments: &Value) -> Self {
        let name = Value::from(name);
        Self::text(format!(r#"<tool_call>{{"name": {name}, "arguments": {arguments}}}</tool_call>"#))
    }

    /// The same message with one call more.
    pub fn and_call(mut self, name: impl Into<String>, arguments: &Value) -> Self {
        self.calls.push(TurnCall { name: name.into(), arguments: arguments.to_string() });
        self
    }

    /// The same message with text before its calls.
    pub fn saying(mut self, text: impl Into<String>) -> Self {
        self.text = text.into();
        self
    }

    /// The same message after one attempt that is turned away with this status, as 429.
    pub fn refused_first(mut self, status: u16) -> Self {
        self.refusals.push(status);
        self
    }

    /// The same message, whose stream breaks off after the first piece of its content. An answer that is not streamed
    /// comes whole.
    pub fn cut_off(mut self) -> Self {
        self.is_cut = true;
        self
    }
}
