//! Texts as vectors, for a search by meaning.
//!
//! An [`Embedder`] makes vectors of texts. The [`EmbeddingsEnrichment`] has it make one of each tool whenever the registry
//! is refreshed, and puts them beside the snapshot as [`Embeddings`]. Whatever the embedder does (fail, panic, give
//! vectors of another size or with holes), the refresh goes on; [`Embeddings::degraded`] says what is missing and why.
//!
//! ```
//! use std::sync::Arc;
//! use toolcrib_model::{QualifiedName, Tool};
//! use toolcrib_registry::{Enrichment, ToolRegistry};
//! use toolcrib_search::embedding::{EmbedError, Embedder, Embeddings, EmbeddingsEnrichment};
//!
//! /// How long a text is, and how many words it has.
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
//! let enrichment = EmbeddingsEnrichment::new(Arc::new(Lengths));
//! let registry = ToolRegistry::new().with_enrichments([Arc::new(enrichment) as Arc<dyn Enrichment>])?;
//! let snapshot = registry.refresh().await?;
//! let embeddings = snapshot.artifacts().get::<Embeddings>(Embeddings::KEY).ok_or("no artifact")?;
//! assert!(embeddings.is_empty() && embeddings.degraded().is_none());
//! assert!(embeddings.of(&Tool::new(QualifiedName::new("files", "read")?)).is_none());
//! # Ok(())
//! # }
//! ```

mod embedder;
mod enrichment;
mod text;
mod vectors;

#[cfg(feature = "fastembed")]
mod fastembed;

#[cfg(test)]
mod tests;

pub use embedder::{EmbedError, Embedder, MAX_DIMENSION};
pub use enrichment::{BATCH, EmbeddingsEnrichment, PATIENCE};
#[cfg(feature = "fastembed")]
pub use fastembed::{FastEmbedder, MAX_MODEL_BYTES, MAX_TOKENIZER_BYTES};
pub use text::{ContentHash, MAX_EMBEDDED_BYTES};
pub use vectors::Embeddings;
