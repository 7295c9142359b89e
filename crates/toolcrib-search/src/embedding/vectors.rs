//! The vectors of the tools of one generation.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use tokio::sync::watch;
use toolcrib_model::QualifiedName;

use super::embedder::checked;
use super::index::VectorIndex;
use super::{EmbedError, Embedder};

/// The vectors of one generation, whether they are there already or are still being made. They are never those of
/// another.
pub struct Embeddings {
    pub(crate) state: Arc<State>,
}

/// What the maker of the vectors and their readers share.
pub(crate) struct State {
    pub(crate) total: usize,
    pub(crate) done: AtomicUsize,
    made: OnceLock<Made>,
    finished: watch::Sender<bool>,
}

/// What came of it.
pub(crate) struct Made {
    /// None when there is no embedder, or it made no vector at all.
    pub(crate) vectors: Option<Arc<Vectors>>,
    pub(crate) fault: Option<EmbedError>,
}

/// How far the making of vectors is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// How many tools are done with.
    pub done: usize,
    /// How many there are.
    pub total: usize,
}

impl Embeddings {
    /// The key of the artifact.
    pub const KEY: &'static str = "embeddings";

    pub(crate) fn pending(total: usize) -> Self {
        let (done, made, finished) = (AtomicUsize::new(0), OnceLock::new(), watch::Sender::new(false));
        Self { state: Arc::new(State { total, done, made, finished }) }
    }

    /// The vectors. None while they are being made, and when there is nothing that makes any, or it made none.
    pub fn vectors(&self) -> Option<&Arc<Vectors>> {
        self.state.made.get()?.vectors.as_ref()
    }

    /// Why tools have no vector, when some have none, or why they are of another model than was asked for: the first
    /// thing that went wrong. Tools without a vector are found by their words alone, and are tried again when the
    /// registry is refreshed.
    pub fn degraded(&self) -> Option<EmbedError> {
        if let Some(made) = self.state.made.get() {
            return made.fault.clone();
        }
        let Progress { done, total } = self.progress();
        Some(EmbedError::Unfinished { left: total - done })
    }

    /// How far they are.
    pub fn progress(&self) -> Progress {
        let total = self.state.total;
        Progress { done: self.state.done.load(Ordering::Relaxed).min(total), total }
    }

    /// Waits until all are made that can be made.
    pub async fn finished(&self) {
        // It fails when the sender is gone, which this holds.
        let _ = self.state.finished.subscribe().wait_for(|finished| *finished).await;
    }
}

impl State {
    pub(crate) fn finish(&self, made: Made) {
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

/// The vectors of all tools of a generation: a row for each name, in the order of the names.
pub struct Vectors {
    pub(crate) embedder: Arc<dyn Embedder>,
    pub(crate) names: Vec<QualifiedName>,
    pub(crate) index: VectorIndex,
    pub(crate) made: usize,
}

impl Vectors {
    /// What made them.
    pub fn embedder(&self) -> &Arc<dyn Embedder> {
        &self.embedder
    }

    /// The names of the tools, sorted: the row of each is its place. Overloads of one name share a row.
    pub fn names(&self) -> &[QualifiedName] {
        &self.names
    }

    /// The vectors.
    pub fn index(&self) -> &VectorIndex {
        &self.index
    }

    /// The vector of a tool; the mean of those of its texts, so that its length is at most one. None where there is none.
    pub fn of(&self, name: &QualifiedName) -> Option<Vec<f32>> {
        self.index.vector(u32::try_from(self.names.binary_search(name).ok()?).ok()?)
    }

    /// How many vectors were made for this generation; the others were there before.
    pub fn made(&self) -> usize {
        self.made
    }

    /// The vector of a query, of length one. It may take as long as the embedder takes.
    pub fn query(&self, text: &str) -> Result<Vec<f32>, EmbedError> {
        let mut vectors = embed(self.embedder.as_ref(), &[text])?;
        vectors.pop().unwrap_or_else(|| Err(EmbedError::Panicked { model: self.embedder.id().to_owned() }))
    }
}

impl fmt::Debug for Vectors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("Vectors");
        f.field("model", &self.embedder.id()).field("index", &self.index).field("made", &self.made);
        f.finish_non_exhaustive()
    }
}

/// One checked vector for each text, whatever the embedder does.
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
