//! The vectors of the tools of one generation.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use tokio::sync::watch;
use toolcrib_model::QualifiedName;
use toolcrib_registry::Artifacts;

use super::embedder::checked;
use super::vector_index::VectorIndex;
use super::vector_set::VectorSet;
use super::{EmbedError, Embedder};

/// The vectors of one generation, which may still be in progress. They are never those of another generation.
pub struct Embeddings {
    pub(crate) state: Arc<JobState>,
}

/// The state that the worker shares with its readers.
pub(crate) struct JobState {
    pub(crate) total: usize,
    pub(crate) done: AtomicUsize,
    made: OnceLock<JobResult>,
    finished: watch::Sender<bool>,
}

/// The result of a finished job.
pub(crate) struct JobResult {
    /// The vectors. `None` if there is no embedder, or if it made no vector.
    pub(crate) vectors: Option<Arc<Vectors>>,
    pub(crate) fault: Option<EmbedError>,
}

/// The progress of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The number of tools that are finished.
    pub done: usize,
    /// The number of all tools.
    pub total: usize,
}

impl Embeddings {
    /// The key of the artifact.
    pub const KEY: &'static str = "embeddings";

    pub(crate) fn pending(total: usize) -> Self {
        let (done, made, finished) = (AtomicUsize::new(0), OnceLock::new(), watch::Sender::new(false));
        Self { state: Arc::new(JobState { total, done, made, finished }) }
    }

    /// Returns the vectors. Returns `None` while they are being made, and if there is no embedder or it made no vector.
    pub fn vectors(&self) -> Option<&Arc<Vectors>> {
        self.state.made.get()?.vectors.as_ref()
    }

    /// Returns the first error that left tools without a vector or replaced the requested model. Tools without a vector
    /// are found by their words alone. Their vectors are tried again at the next refresh of the registry.
    pub fn degraded(&self) -> Option<EmbedError> {
        if let Some(made) = self.state.made.get() {
            return made.fault.clone();
        }
        let Progress { done, total } = self.progress();
        Some(EmbedError::Unfinished { left: total - done })
    }

    /// Returns the progress.
    pub fn progress(&self) -> Progress {
        let total = self.state.total;
        Progress { done: self.state.done.load(Ordering::Relaxed).min(total), total }
    }

    /// Waits until the job is finished.
    pub async fn finished(&self) {
        // This fails only if the sender is dropped, and `self` holds it.
        let _ = self.state.finished.subscribe().wait_for(|finished| *finished).await;
    }
}

impl Embeddings {
    /// Waits for the vectors among these artifacts. The error, a text for people, is the reason why they are missing.
    pub async fn finished_in(artifacts: &Artifacts) -> Result<Arc<Vectors>, String> {
        let embeddings = artifacts.get::<Self>(Self::KEY).ok_or("there are no embeddings of tools")?;
        embeddings.finished().await;
        let reason = || {
            embeddings.degraded().map_or_else(|| "there are no vectors".to_owned(), |error| error.to_string())
        };
        embeddings.vectors().cloned().ok_or_else(reason)
    }
}

impl JobState {
    pub(crate) fn finish(&self, made: JobResult) {
        self.done.store(self.total, Ordering::Relaxed);
        if self.made.set(made).is_ok() {
            self.finished.send_replace(true);
        }
    }
}

impl fmt::Debug for Embeddings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("Embeddings");
        f.field("progress", &self.progress()).field("vectors", &self.vectors());
        f.field("degraded", &self.degraded()).finish()
    }
}

/// The vectors of all tools of a generation: one row for each name, in the order of the names.
pub struct Vectors {
    pub(crate) embedder: Arc<dyn Embedder>,
    pub(crate) names: Vec<QualifiedName>,
    pub(crate) set: Arc<VectorSet>,
    pub(crate) made: usize,
}

impl Vectors {
    /// Returns the embedder that made the vectors.
    pub fn embedder(&self) -> &Arc<dyn Embedder> {
        &self.embedder
    }

    /// Returns the names of the tools, sorted. The row of a tool is the position of its name. Overloads of one name
    /// share a row.
    pub fn names(&self) -> &[QualifiedName] {
        &self.names
    }

    /// Returns the index of the vectors.
    pub fn index(&self) -> &VectorIndex {
        self.set.index()
    }

    /// Returns the vector of a tool: the mean of the vectors of its texts, whose length is at most one. Returns `None`
    /// if the tool has no vector.
    pub fn of(&self, name: &QualifiedName) -> Option<Vec<f32>> {
        self.index().vector(u32::try_from(self.names.binary_search(name).ok()?).ok()?)
    }

    /// Returns the number of vectors that were made for this generation. The others were reused.
    pub fn made(&self) -> usize {
        self.made
    }

    /// Returns the unit vector of a query. It blocks while the embedder runs.
    pub fn query(&self, text: &str) -> Result<Vec<f32>, EmbedError> {
        let mut vectors = embed(self.embedder.as_ref(), &[text])?;
        vectors.pop().unwrap_or_else(|| Err(EmbedError::Panicked { model: self.embedder.id().to_owned() }))
    }
}

impl fmt::Debug for Vectors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("Vectors");
        f.field("model", &self.embedder.id()).field("index", self.index()).field("made", &self.made);
        f.finish_non_exhaustive()
    }
}

/// Returns one validated vector for each text. A panic of the embedder becomes an error.
pub(crate) fn embed(
    embedder: &dyn Embedder,
    texts: &[&str],
) -> Result<Vec<Result<Vec<f32>, EmbedError>>, EmbedError> {
    let panicked = |_| EmbedError::Panicked { model: embedder.id().to_owned() };
    let vectors = catch_unwind(AssertUnwindSafe(|| embedder.embed(texts))).map_err(panicked)??;
    if vectors.len() != texts.len() {
        let (model, texts, found) = (embedder.id().to_owned(), texts.len(), vectors.len());
        return Err(EmbedError::Count { model, texts, found });
    }
    Ok(texts.iter().zip(vectors).map(|(text, vector)| checked(embedder, text, vector)).collect())
}
