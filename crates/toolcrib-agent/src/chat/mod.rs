//! Messages, requests and replies of a chat with a model.

mod empty_reply;
mod message;
mod model;
mod recovery;
mod text;

pub(crate) use empty_reply::EmptyReplyCheck;
pub use message::{Message, Picture, RequestedCall, ToolFunction};
pub use model::{ChatModel, ChatReply, ChatRequest, Piece, TextSink, ToolChoice, Usage};
pub(crate) use model::{REFUSAL, is_zero, millionths, units};
pub use recovery::RecoveringModel;
pub use text::TextModel;
pub(crate) use text::written_call;
