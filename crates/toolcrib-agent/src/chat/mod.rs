//! Messages, requests and replies of a chat with a model.

mod encoded_prefix;
mod message;
mod model;
mod options;
mod output_schema;
mod recovery;
mod shown_pieces;
mod text;

pub use encoded_prefix::EncodedPrefix;
pub use message::{Message, Picture, ProviderItems, RequestedCall, ToolFunction};
pub use model::{ChatModel, ChatReply, ChatRequest, DeferredTools, Piece, TextSink, ToolChoice, Usage};
pub(crate) use model::{REFUSAL, is_zero, millionths, units};
pub(crate) use options::WireOptions;
#[cfg(test)]
pub(crate) use options::{MAX_EXTRA_KEYS, MAX_STOPS};
pub use options::{MAX_REPLIES, RequestOptions, ResponseFormat};
pub(crate) use output_schema::with_instruction;
pub use output_schema::{MAX_OUTPUT_SCHEMA_BYTES, NoOutput, OutputSchema, OutputValue};
pub use recovery::RecoveringModel;
pub(crate) use shown_pieces::ShownPieces;
pub use text::TextModel;
pub(crate) use text::written_call;
