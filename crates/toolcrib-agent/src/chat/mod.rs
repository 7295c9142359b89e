//! What is said to a model and what it says.

mod message;
mod model;

pub use message::{Message, RequestedCall, ToolFunction};
pub use model::{ChatModel, ChatReply, ChatRequest, Piece, TextSink, ToolChoice, Usage};
