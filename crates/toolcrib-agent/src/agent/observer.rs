//! Watching a run.

use std::time::Duration;

use toolcrib_model::{ToolCall, ToolResult};

/// Watches a run, as a terminal does. The methods are called in the middle of asynchronous code and must not wait.
pub trait Observer: Send {
    /// The model says something: a piece of a message, without the calls that are written in it.
    fn on_text(&mut self, _text: &str) {}

    /// The model thinks, before it says something.
    fn on_reasoning(&mut self, _text: &str) {}

    /// The message of the model is complete; calls may follow.
    fn on_turn_finished(&mut self) {}

    /// Something happened on the way to the model's message: it is asked again, or another one is.
    fn on_notice(&mut self, _text: &str) {}

    /// A call cannot be read, and is not run. [`on_call_finished`](Self::on_call_finished) follows. Both are as the model
    /// wrote them.
    fn on_call_unreadable(&mut self, _name: &str, _arguments: &str) {}

    /// A call is about to be run.
    fn on_call_started(&mut self, _call: &ToolCall) {}

    /// A call has its result. One that could not be read has not started.
    fn on_call_finished(&mut self, _result: &ToolResult, _elapsed: Duration) {}

    /// The conversation was made shorter, since it became too long for the model.
    fn on_shortened(&mut self, _what: Compacted) {}
}

/// The compaction of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compacted {
    /// The given number of results were offloaded: an excerpt is left of each, and a handle to read it.
    Results(usize),
    /// The older part is a summary now.
    Summarized,
    /// The older part is gone.
    Dropped,
}

/// Does not look.
impl Observer for () {}
