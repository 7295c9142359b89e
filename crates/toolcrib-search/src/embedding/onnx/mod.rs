//! Models as ONNX files: a custom folder, or a named model that was downloaded. Two engines run them: `fastembed` with
//! ONNX Runtime, a library that must be there, and `rten`, which is a part of this program. Neither a model nor the
//! library is downloaded unless [`pull`] is called.

mod catalogue;
mod fastembed;
mod files;
mod library;
mod limits;
mod pull;
mod rten;
mod tokenizer;

pub use catalogue::NamedModel;
pub use fastembed::FastEmbedder;
pub use library::load_library;
pub use limits::{MAX_MODEL_BYTES, MAX_TOKENIZER_BYTES};
pub use pull::{DEFAULT_ENDPOINT, PullProgress, STALL_TIMEOUT, pull};
pub use rten::RtenEmbedder;

/// The default model: sentences in fifty languages.
pub const DEFAULT_MODEL: &str = "paraphrase-multilingual-MiniLM-L12-v2";
