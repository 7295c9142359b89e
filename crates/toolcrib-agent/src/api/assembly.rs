//! From the pieces of an answer to a reply: what all wire formats share. Servers differ; what can be understood is.

use serde_json::Value;

use crate::chat::{ChatReply, Piece, RequestedCall, TextSink};

/// The longest reply that is put together: text, names and arguments, in bytes. Some forty times what models write.
pub(super) const MAX_REPLY_BYTES: usize = 4 * 1024 * 1024;

/// The most calls of one reply.
pub(super) const MAX_REPLY_CALLS: usize = 128;

/// The reason why the pieces are not a reply.
#[derive(Debug)]
pub(super) enum Fault {
    /// The server sent an error instead.
    Error(Value),
    /// It is in no form that is known.
    NotAReply(String),
    /// It ended in the middle.
    Interrupted(&'static str),
    /// There is too much of it.
    TooLarge { limit: usize, unit: &'static str },
}

impl Fault {
    /// A stream that ended before its reply did.
    pub(super) const CUT: Self = Self::Interrupted("the stream ended before the reply did");
}

/// A reply that comes in pieces. A reply that comes as a whole is one piece.
pub(super) trait Assemble: Send {
    /// Takes the next piece in.
    fn push(&mut self, piece: &Value, sink: &mut TextSink<'_>) -> Result<(), Fault>;

    /// Returns true if nothing of the reply follows, except its usage.
    fn has_ended(&self) -> bool;

    /// Returns true if the server said that nothing follows at all.
    fn is_over(&self) -> bool {
        false
    }

    /// Returns the reply, after the last piece. `is_marked` is whether the server said that it was the last.
    fn finish(self: Box<Self>, is_marked: bool, sink: &mut TextSink<'_>) -> Result<ChatReply, Fault>;
}

/// The reply so far, within bounds.
#[derive(Debug, Default)]
pub(super) struct Partial {
    pub(super) reply: ChatReply,
    bytes: usize,
}

impl Partial {
    /// Adds a piece to the reply, and passes it on.
    pub(super) fn say(&mut self, piece: Piece<'_>, sink: &mut TextSink<'_>) -> Result<(), Fault> {
        let (Piece::Text(text) | Piece::Reasoning(text) | Piece::Notice(text)) = piece;
        if text.is_empty() {
            return Ok(());
        }
        self.count(text.len())?;
        keep(&mut self.reply, piece, sink);
        Ok(())
    }

    /// Adds a call, and returns its position.
    pub(super) fn begin_call(&mut self, id: &str, name: &str) -> Result<usize, Fault> {
        let position = self.reply.tool_calls.len();
        if position == MAX_REPLY_CALLS {
            return Err(Fault::TooLarge { limit: MAX_REPLY_CALLS, unit: "calls" });
        }
        self.count(id.len() + name.len())?;
        let (id, name) = (id.to_owned(), name.to_owned());
        self.reply.tool_calls.push(RequestedCall { id, name, ..RequestedCall::default() });
        Ok(position)
    }

    /// Adds to the arguments of a call.
    pub(super) fn extend_call(&mut self, position: usize, arguments: &str) -> Result<(), Fault> {
        self.count(arguments.len())?;
        if let Some(call) = self.reply.tool_calls.get_mut(position) {
            call.arguments.push_str(arguments);
        }
        Ok(())
    }

    /// Counts bytes of the reply.
    pub(super) fn count(&mut self, bytes: usize) -> Result<(), Fault> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > MAX_REPLY_BYTES {
            return Err(Fault::TooLarge { limit: MAX_REPLY_BYTES, unit: "bytes" });
        }
        Ok(())
    }
}

/// Adds a piece to the reply, and passes it on.
pub(super) fn keep(reply: &mut ChatReply, piece: Piece<'_>, sink: &mut TextSink<'_>) {
    match piece {
        Piece::Text(text) => reply.content.push_str(text),
        Piece::Reasoning(text) => reply.reasoning.push_str(text),
        Piece::Notice(_) => {}
    }
    sink(piece);
}

/// Returns the text of a key; empty if it is absent or not a text.
pub(super) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the arguments of a call as text: some servers send the arguments themselves.
pub(super) fn arguments_text(arguments: Option<&Value>) -> String {
    match arguments {
        Some(Value::String(arguments)) => arguments.clone(),
        None | Some(Value::Null) => String::new(),
        Some(arguments) => arguments.to_string(),
    }
}
