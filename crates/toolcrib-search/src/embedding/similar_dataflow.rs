//! The enrichment that computes the dataflow by the similarity of parameters.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use toolcrib_registry::enrichment::{Dataflow, ParameterSimilarity as _};
use toolcrib_registry::{Artifacts, Enriched, Enrichment, Snapshot};

use super::{EmbeddedParameters, Embeddings};
use crate::cache::dataflow_cache::DataflowCache;

/// The [`Enrichment`] that computes a [`Dataflow`] under [`Dataflow::KEY`] with the embedder of the [`Embeddings`]. It
/// waits for them, and fails if there are no vectors.
#[derive(Clone, Debug, Default)]
pub struct SimilarDataflowEnrichment {
    cache: Option<PathBuf>,
}

impl SimilarDataflowEnrichment {
    /// Caches the dataflow in this folder, so that the same tools are compared once. The folder belongs to the operator,
    /// and several processes may share it.
    pub fn with_cache(mut self, folder: impl Into<PathBuf>) -> Self {
        self.cache = Some(folder.into());
        self
    }
}

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
        let (tools, folder) = (tools.all().to_vec(), self.cache.clone());
        let compute = move || {
            let cache = folder.map(|folder| DataflowCache::new(&folder, parameters.id(), &tools));
            if let Some(dataflow) = cache.as_ref().and_then(|cache| cache.read(&tools)) {
                return Ok(dataflow);
            }
            let dataflow = Dataflow::by_similarity(&tools, &parameters)?;
            if let Some(cache) = &cache {
                cache.write(&dataflow);
            }
            Ok::<_, String>(dataflow)
        };
        let dataflow = tokio::task::spawn_blocking(compute).await.map_err(|error| error.to_string())?;
        Ok(Enriched::new(dataflow?))
    }
}
