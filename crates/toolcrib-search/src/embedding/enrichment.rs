//! Vectors of all tools, after each load.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use toolcrib_model::Tool;
use toolcrib_registry::{Artifact, Artifacts, Enrichment, Snapshot};

use super::maker::Maker;
use super::{EmbedError, Embedder, Embeddings};

/// How long a refresh waits for vectors unless set. What is not there by then follows while tools are found by their
/// words.
pub const PATIENCE: Duration = Duration::from_millis(500);

/// An embedder, as far as one could be opened.
#[derive(Clone)]
pub struct Opened {
    /// The embedder; none when there is none to be had.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// Why it is not the one that was asked for.
    pub fault: Option<EmbedError>,
}

/// The [`Enrichment`] that makes [`Embeddings`] under [`Embeddings::KEY`], in a thread of its own. It makes vectors of
/// what is new or changed, and never fails a refresh.
///
/// It needs a runtime with time.
pub struct EmbeddingsEnrichment {
    maker: Arc<Maker>,
    patience: Duration,
}

impl EmbeddingsEnrichment {
    /// Makes the vectors with this embedder.
    pub fn new(embedder: Arc<dyn Embedder>) -> Self {
        Self::opening(move || Opened { embedder: Some(Arc::clone(&embedder)), fault: None })
    }

    /// Makes the vectors with an embedder that is opened when it is first needed, where that holds nobody up.
    pub fn opening(open: impl Fn() -> Opened + Send + Sync + 'static) -> Self {
        Self { maker: Arc::new(Maker::new(Box::new(open))), patience: PATIENCE }
    }

    /// Stands in for an embedder that could not be opened: every generation says so, and has no vectors.
    pub fn degraded(error: EmbedError) -> Self {
        Self::opening(move || Opened { embedder: None, fault: Some(error.clone()) })
    }

    /// Sets how long a refresh waits; [`PATIENCE`] by default.
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Keeps vectors in this folder, so that each is made once. It is the operator's own folder, which may be shared by
    /// several processes.
    pub fn with_cache(self, folder: impl Into<PathBuf>) -> Self {
        self.maker.cache.get_or_init(|| folder.into());
        self
    }
}

#[async_trait]
impl Enrichment for EmbeddingsEnrichment {
    fn key(&self) -> &str {
        Embeddings::KEY
    }

    async fn run(&self, tools: &Snapshot, _artifacts: &Artifacts) -> Result<Artifact, String> {
        let embeddings = self.maker.begin(tools.iter().map(|entry| &entry.tool));
        if !self.patience.is_zero() {
            // Whether they are there by now, they say themselves.
            let _ = tokio::time::timeout(self.patience, embeddings.finished()).await;
        }
        Ok(Arc::new(embeddings))
    }
}

impl Embeddings {
    /// Begins to make the vectors of these tools, without a registry.
    pub fn of_tools<'a>(embedder: Arc<dyn Embedder>, tools: impl IntoIterator<Item = &'a Arc<Tool>>) -> Self {
        let open = move || Opened { embedder: Some(Arc::clone(&embedder)), fault: None };
        Arc::new(Maker::new(Box::new(open))).begin(tools.into_iter())
    }
}
