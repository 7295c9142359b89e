//! The enrichment that makes the vectors of all tools after each load.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use toolcrib_io::table::SharedTable;
use toolcrib_model::Tool;
use toolcrib_registry::{Artifacts, Enriched, Enrichment, Snapshot};

use super::worker::EmbeddingWorker;
use super::{EmbedError, Embedder, Embeddings};

/// The default time that a refresh waits for vectors. The remaining vectors follow later; until then tools are found by
/// their words.
pub const DEFAULT_WAIT: Duration = Duration::from_millis(500);

/// The result of opening an embedder.
#[derive(Clone)]
pub struct OpenedEmbedder {
    /// The embedder, or a replacement. `None` if neither is available.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// The reason why it is not the requested embedder.
    pub fault: Option<EmbedError>,
}

/// The [`Enrichment`] that makes [`Embeddings`] under [`Embeddings::KEY`] in a separate thread. It embeds only new and
/// changed tools, and never fails a refresh.
///
/// It requires a Tokio runtime with time enabled.
pub struct EmbeddingsEnrichment {
    worker: Arc<EmbeddingWorker>,
    wait: Duration,
}

impl EmbeddingsEnrichment {
    /// Makes the vectors with the given embedder.
    pub fn new(embedder: Arc<dyn Embedder>) -> Self {
        Self::lazy(move || OpenedEmbedder { embedder: Some(Arc::clone(&embedder)), fault: None })
    }

    /// Makes the vectors with an embedder that `open` opens in the background on first use.
    pub fn lazy(open: impl Fn() -> OpenedEmbedder + Send + Sync + 'static) -> Self {
        Self { worker: Arc::new(EmbeddingWorker::new(Box::new(open))), wait: DEFAULT_WAIT }
    }

    /// Creates an enrichment for an embedder that could not be opened. Every generation reports the error and has no
    /// vectors.
    pub fn degraded(error: EmbedError) -> Self {
        Self::lazy(move || OpenedEmbedder { embedder: None, fault: Some(error.clone()) })
    }

    /// Sets the time that a refresh waits; [`DEFAULT_WAIT`] by default.
    pub fn with_wait(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    /// Caches vectors in this folder, so that each is made once. The folder belongs to the operator, and several
    /// processes may share it.
    pub fn with_cache(self, folder: impl Into<PathBuf>) -> Self {
        self.worker.cache.get_or_init(|| folder.into());
        self
    }

    /// Shares the vectors in this table with other processes, so that one of them embeds each text. The others wait for a
    /// short time, and embed what they have not got by then.
    pub fn with_table(self, table: Arc<dyn SharedTable>) -> Self {
        self.worker.table.get_or_init(|| table);
        self
    }
}

#[async_trait]
impl Enrichment for EmbeddingsEnrichment {
    fn key(&self) -> &str {
        Embeddings::KEY
    }

    async fn run(&self, tools: &Snapshot, _artifacts: &Artifacts) -> Result<Enriched, String> {
        let embeddings = self.worker.begin(tools.iter().map(|entry| &entry.tool));
        if !self.wait.is_zero() {
            // A timeout is no error: the embeddings report their progress.
            let _ = tokio::time::timeout(self.wait, embeddings.finished()).await;
        }
        Ok(Enriched::new(embeddings))
    }
}

impl Embeddings {
    /// Starts to make the vectors of these tools, without a registry.
    pub fn of_tools<'a>(embedder: Arc<dyn Embedder>, tools: impl IntoIterator<Item = &'a Arc<Tool>>) -> Self {
        let open = move || OpenedEmbedder { embedder: Some(Arc::clone(&embedder)), fault: None };
        Arc::new(EmbeddingWorker::new(Box::new(open))).begin(tools.into_iter())
    }
}
