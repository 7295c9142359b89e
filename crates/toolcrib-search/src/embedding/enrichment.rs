//! One vector for each tool, after each load.

use std::collections::{HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use toolcrib_model::Tool;
use toolcrib_registry::{Artifact, Artifacts, Enrichment, Snapshot};

use super::embedder::checked;
use super::text::text_of;
use super::{ContentHash, EmbedError, Embedder, Embeddings};

/// How many texts an embedder is given at once.
pub const BATCH: usize = 32;

/// How long one refresh waits for vectors unless set: the batch that is under way then is the last. What is left over is
/// the next refresh's.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// The [`Enrichment`] that makes [`Embeddings`] under [`Embeddings::KEY`]. It makes vectors of what is new or changed,
/// and never fails a refresh.
pub struct EmbeddingsEnrichment {
    embedder: Arc<dyn Embedder>,
    /// Why there is no embedder, when there is none.
    broken: Option<EmbedError>,
    patience: Duration,
    /// What the last snapshot had.
    known: Mutex<HashMap<ContentHash, Arc<[f32]>>>,
}

impl EmbeddingsEnrichment {
    /// Makes the vectors with this embedder.
    pub fn new(embedder: Arc<dyn Embedder>) -> Self {
        Self { embedder, broken: None, patience: PATIENCE, known: Mutex::default() }
    }

    /// Stands in for an embedder that could not be opened: every snapshot says so, and has no vectors.
    pub fn degraded(error: EmbedError) -> Self {
        Self { broken: Some(error.clone()), ..Self::new(Arc::new(Broken(error))) }
    }

    /// Sets how long one refresh waits; [`PATIENCE`] by default.
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }
}

#[async_trait]
impl Enrichment for EmbeddingsEnrichment {
    fn key(&self) -> &str {
        Embeddings::KEY
    }

    async fn run(&self, tools: &Snapshot, _artifacts: &Artifacts) -> Result<Artifact, String> {
        let tools: Vec<Arc<Tool>> = tools.iter().map(|entry| Arc::clone(&entry.tool)).collect();
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut work = Work {
            embedder: Arc::clone(&self.embedder),
            patience: self.patience,
            known,
            vectors: HashMap::new(),
            made: 0,
            degraded: self.broken.clone(),
        };
        let working = tokio::task::spawn_blocking(move || {
            work.embed_all(&tools);
            work.into_embeddings()
        });
        let embeddings = working.await.map_err(|error| error.to_string())?;
        if let Some(error) = embeddings.degraded() {
            tracing::warn!("search by meaning is degraded: {error}");
        }
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&embeddings.vectors);
        Ok(Arc::new(embeddings))
    }
}

/// The making of the vectors of one snapshot.
struct Work {
    embedder: Arc<dyn Embedder>,
    patience: Duration,
    known: HashMap<ContentHash, Arc<[f32]>>,
    vectors: HashMap<ContentHash, Arc<[f32]>>,
    made: usize,
    degraded: Option<EmbedError>,
}

impl Work {
    fn embed_all(&mut self, tools: &[Arc<Tool>]) {
        let mut new: Vec<(ContentHash, String)> = Vec::new();
        let mut seen = HashSet::new();
        for tool in tools {
            let text = text_of(tool);
            let content = ContentHash::of(self.embedder.id(), &text);
            if !seen.insert(content) {
                continue;
            }
            match self.known.get(&content) {
                Some(vector) => {
                    self.vectors.insert(content, Arc::clone(vector));
                }
                None => new.push((content, text)),
            }
        }
        let start = Instant::now();
        let mut left = new.len();
        for batch in new.chunks(BATCH) {
            if left < new.len() && start.elapsed() >= self.patience {
                self.degraded.get_or_insert(EmbedError::Unfinished { left });
                return;
            }
            if let Err(error) = self.embed(batch) {
                // The next batch would fail in the same way, and each may take long.
                self.degraded.get_or_insert(error);
                return;
            }
            left -= batch.len();
        }
    }

    /// Adds the vectors of a batch. A text whose vector is none is left out.
    fn embed(&mut self, batch: &[(ContentHash, String)]) -> Result<(), EmbedError> {
        let texts: Vec<&str> = batch.iter().map(|(_, text)| text.as_str()).collect();
        let embedding = catch_unwind(AssertUnwindSafe(|| self.embedder.embed(&texts)));
        let panicked = |_| EmbedError::Panicked { model: self.embedder.id().to_owned() };
        let vectors = embedding.map_err(panicked)??;
        if vectors.len() != texts.len() {
            let (model, texts, found) = (self.embedder.id().to_owned(), texts.len(), vectors.len());
            return Err(EmbedError::Count { model, texts, found });
        }
        for ((content, text), vector) in batch.iter().zip(vectors) {
            match checked(self.embedder.as_ref(), text, vector) {
                Ok(vector) => {
                    self.made += 1;
                    self.vectors.insert(*content, vector.into());
                }
                Err(error) => {
                    self.degraded.get_or_insert(error);
                }
            }
        }
        Ok(())
    }

    fn into_embeddings(self) -> Embeddings {
        Embeddings {
            model: self.embedder.id().to_owned(),
            dimension: self.embedder.dimension(),
            vectors: self.vectors,
            made: self.made,
            degraded: self.degraded,
        }
    }
}

/// An embedder that could not be opened.
struct Broken(EmbedError);

impl Embedder for Broken {
    fn id(&self) -> &'static str {
        "none"
    }

    fn dimension(&self) -> usize {
        0
    }

    fn embed(&self, _texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        Err(self.0.clone())
    }
}
