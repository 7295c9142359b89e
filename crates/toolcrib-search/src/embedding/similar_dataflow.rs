//! The enrichment that computes the dataflow by the similarity of parameters.

use std::sync::Arc;

use async_trait::async_trait;
use toolcrib_registry::enrichment::{Dataflow, DataflowEnrichment};
use toolcrib_registry::{Artifacts, Enriched, Enrichment, Snapshot};

use super::{EmbeddedParameters, Embeddings};

/// The [`Enrichment`] that computes a [`Dataflow`] under [`Dataflow::KEY`] with the embedder of the [`Embeddings`]. It
/// waits for them, and fails if there are no vectors.
#[derive(Clone, Copy, Debug, Default)]
pub struct SimilarDataflowEnrichment;

#[async_trait]
impl Enrichment for SimilarDataflowEnrichment {
    fn key(&self) -> &str {
        Dataflow::KEY
    }

    fn depends_on(&self) -> &[&str] {
        &[Embeddings::KEY]
    }

    async fn run(&self, tools: &Snapshot, artifacts: &Artifacts) -> Result<Enriched, String> {
        let vectors = Embeddings::finished_in(artifacts).await?;
        let parameters = EmbeddedParameters::new(Arc::clone(vectors.embedder()));
        DataflowEnrichment::default().with_similarity(Arc::new(parameters)).run(tools, artifacts).await
    }
}
