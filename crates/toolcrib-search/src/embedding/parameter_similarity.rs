//! The similarity of parameters by the vectors of their texts.

use std::num::NonZero;
use std::sync::Arc;
use std::thread;

use toolcrib_registry::enrichment::ParameterSimilarity;

use super::vector_index::{QuantizedVector, VectorIndex};
use super::vectors::embed;
use super::{BATCH, EmbedError, Embedder};

/// The number of outputs that are compared with each argument.
const MAX_NEAREST: usize = 64;

/// The most threads that compare vectors.
const MAX_THREADS: usize = 4;

/// The cosine of the vectors of two parameters' texts. A text without a vector is similar to none.
pub struct EmbeddedParameters {
    embedder: Arc<dyn Embedder>,
}

impl EmbeddedParameters {
    /// Compares the vectors that an embedder makes.
    pub fn new(embedder: Arc<dyn Embedder>) -> Self {
        Self { embedder }
    }

    fn vectors(&self, texts: &[String]) -> Result<Vec<Option<Vec<f32>>>, EmbedError> {
        let mut vectors = Vec::with_capacity(texts.len());
        for batch in texts.chunks(BATCH) {
            let batch: Vec<&str> = batch.iter().map(String::as_str).collect();
            for vector in embed(self.embedder.as_ref(), &batch)? {
                vectors.push(match vector {
                    Err(EmbedError::Nowhere { .. }) => None,
                    other => Some(other?),
                });
            }
        }
        Ok(vectors)
    }
}

impl ParameterSimilarity for EmbeddedParameters {
    fn id(&self) -> &str {
        self.embedder.id()
    }

    fn nearest(&self, outputs: &[String], arguments: &[String]) -> Result<Vec<Vec<(usize, f64)>>, String> {
        let vectors = |texts| self.vectors(texts).map_err(|error| error.to_string());
        let rows: Vec<Option<QuantizedVector>> =
            vectors(outputs)?.iter().map(|vector| QuantizedVector::of(vector.as_ref()?)).collect();
        let index = VectorIndex::new(
            self.embedder.dimension(),
            rows.iter().map(|row| row.as_ref().map(QuantizedVector::row)),
        );
        let queries = vectors(arguments)?;
        let nearest = |query: &Option<Vec<f32>>| {
            let found = query.iter().flat_map(|query| index.search(query, MAX_NEAREST, &|_| true));
            found.map(|(row, score)| (row as usize, f64::from(score))).collect::<Vec<_>>()
        };
        Ok(in_parallel(&queries, nearest))
    }
}

/// Maps items on a few threads, and returns the results in order.
pub(super) fn in_parallel<T: Sync, R: Send>(items: &[T], make: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(MAX_THREADS);
    let share = items.len().div_ceil(threads).max(1);
    let make = &make;
    thread::scope(|scope| {
        let run = |items: &[T]| items.iter().map(make).collect::<Vec<R>>();
        let started: Vec<_> = items
            .chunks(share)
            .map(|items| (items, thread::Builder::new().spawn_scoped(scope, move || run(items))))
            .collect();
        let mut made = Vec::with_capacity(items.len());
        for (items, thread) in started {
            // If the system refuses a thread, this one does its work.
            made.extend(match thread.map(thread::ScopedJoinHandle::join) {
                Ok(Ok(part)) => part,
                Ok(Err(panic)) => std::panic::resume_unwind(panic),
                Err(_) => run(items),
            });
        }
        made
    })
}
