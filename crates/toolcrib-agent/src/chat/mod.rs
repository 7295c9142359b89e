//! Messages, requests and replies of a chat with a model.

mod message;
mod model;
mod recovery;
mod shown_pieces;
mod text;

pub use message::{Message, Picture, RequestedCall, ToolFunction};
pub use model::{ChatModel, ChatReply, ChatRequest, Piece, TextSink, ToolChoice, Usage};
pub(crate) use model::{REFUSAL, is_zero, millionths, units};
pub use recovery::RecoveringModel;
pub(crate) use shown_pieces::ShownPieces;
pub use text::TextModel;
pub(crate) use text::written_call;
