//! Embeddings of tools, for semantic search.
//!
//! An [`Embedder`] makes vectors of texts. The [`EmbeddingsEnrichment`] makes one of each tool whenever the registry is
//! refreshed, and adds them to the snapshot as [`Embeddings`]. A refresh waits for them for a short time and then
//! continues without them. A separate thread embeds only new and changed tools, and caches the vectors on disk if it is
//! given a folder. If the embedder fails, panics, or returns invalid vectors, the tools remain available;
//! [`Embeddings::degraded`] reports what is missing and the cause.
//!
//! A [`VectorIndex`] finds the vectors that are most similar to that of a query. [`ToolVectors`] has the vector of each
//! overload, and [`Neighbors`] the most similar tools of each tool. The [`SimilarDataflowEnrichment`] compares the
//! parameters of tools.
//!
//! ```
//! use std::sync::Arc;
//! use toolcrib_model::{QualifiedName, Tool};
//! use toolcrib_search::embedding::{EmbedError, Embedder, Embeddings};
//!
//! /// Represents a text by its length and the number of its words.
//! struct Lengths;
//!
//! impl Embedder for Lengths {
//!     fn id(&self) -> &str {
//!         "lengths"
//!     }
//!     fn dimension(&self) -> usize {
//!         2
//!     }
//!     fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
//!         Ok(texts.iter().map(|text| vec![text.len() as f32, text.split(' ').count() as f32]).collect())
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let read = Tool::new(QualifiedName::new("files", "read")?).with_description("Reads a text file.");
//! let embeddings = Embeddings::of_tools(Arc::new(Lengths), [&Arc::new(read.clone())]);
//! embeddings.finished().await;
//! let vectors = embeddings.vectors().ok_or("no vectors")?;
//! let best = vectors.index().search(&vectors.query("Read a file")?, 5, &|_| true);
//! assert_eq!(vectors.names()[best[0].0 as usize], read.name);
//! # Ok(())
//! # }
//! ```

mod both;
mod builtin;
mod embedder;
mod enrichment;
mod neighbors;
mod parameter_similarity;
mod similar_dataflow;
mod sketch;
mod tool_texts;
mod tool_vectors;
mod vector_index;
mod vectors;

mod runtime_library;
mod shared_vectors;
mod vector_cache;
mod vector_set;
mod worker;

#[cfg(feature = "onnx")]
mod onnx;

#[cfg(test)]
mod tests;

pub use builtin::{
    BuiltinEmbedder, MAX_TABLE_ROWS, MAX_TEXT_BYTES, MAX_TEXT_TOKENS, MAX_TOKEN_BYTES, MAX_WORD_CHARACTERS,
    NewToken, RowFormat, Table, TableError, TokenId,
};
pub use embedder::{EmbedError, Embedder, MAX_DIMENSION};
pub use enrichment::{DEFAULT_WAIT, EmbeddingsEnrichment, OpenedEmbedder};
pub use neighbors::{
    MAX_NEIGHBORS, NEAR_DUPLICATE, NEIGHBOR_CANDIDATES, Neighbor, Neighbors, NeighborsEnrichment,
};
#[cfg(feature = "onnx")]
pub use onnx::{
    DEFAULT_ENDPOINT, DEFAULT_MODEL, FastEmbedder, MAX_MODEL_BYTES, MAX_TOKENIZER_BYTES, NamedModel,
    PullProgress, RtenEmbedder, STALL_TIMEOUT, load_library, pull,
};
pub use parameter_similarity::EmbeddedParameters;
pub use runtime_library::{LIBRARY_VARIABLE, RuntimeLibrary, runtime_libraries};
pub use similar_dataflow::SimilarDataflowEnrichment;
pub use tool_texts::{ContentHash, MAX_EMBEDDED_BYTES};
pub use tool_vectors::ToolVectors;
pub use vector_cache::{MAX_CACHE_BYTES, MAX_CACHED_SETS};
pub use vector_index::VectorIndex;
pub use vectors::{Embeddings, Progress, Vectors};
pub use worker::BATCH;
