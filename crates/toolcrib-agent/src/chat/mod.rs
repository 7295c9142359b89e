//! What is said to a model and what it says.

mod heard;
mod message;
mod model;
mod recovery;
mod text;

pub(crate) use heard::Heard;
pub use message::{Message, Picture, RequestedCall, ToolFunction};
pub use model::{ChatModel, ChatReply, ChatRequest, Piece, TextSink, ToolChoice, Usage};
pub(crate) use model::{REFUSAL, is_zero, millionths, units};
pub use recovery::RecoveringModel;
pub use text::TextModel;
pub(crate) use text::written_call;
