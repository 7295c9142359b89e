//! The vectors of the tools of one snapshot.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use toolcrib_model::Tool;

use super::text::text_of;
use super::{ContentHash, EmbedError};

/// The vectors of the tools of one snapshot, by the content that they were made of.
#[derive(Clone)]
pub struct Embeddings {
    pub(crate) model: String,
    pub(crate) dimension: usize,
    pub(crate) vectors: HashMap<ContentHash, Arc<[f32]>>,
    pub(crate) made: usize,
    pub(crate) degraded: Option<EmbedError>,
}

impl Embeddings {
    /// The key of the artifact.
    pub const KEY: &'static str = "embeddings";

    /// The [id](super::Embedder::id) of the model.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// How many numbers each vector has.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// The vector of a tool; its length is one. None where it could not be made, see [`degraded`](Self::degraded).
    pub fn of(&self, tool: &Tool) -> Option<&[f32]> {
        self.get(ContentHash::of(&self.model, &text_of(tool)))
    }

    /// The vector of a content.
    pub fn get(&self, content: ContentHash) -> Option<&[f32]> {
        self.vectors.get(&content).map(AsRef::as_ref)
    }

    /// How many contents have a vector. Tools of the same content share one.
    pub fn len(&self) -> usize {
        self.vectors.len()
    }

    /// Whether there is no vector at all.
    pub fn is_empty(&self) -> bool {
        self.vectors.is_empty()
    }

    /// How many vectors were made for this snapshot; the others were there before.
    pub fn made(&self) -> usize {
        self.made
    }

    /// Why some tools have no vector, when some have none: the first thing that went wrong. They are found by their
    /// words alone, and are tried again at the next refresh.
    pub fn degraded(&self) -> Option<&EmbedError> {
        self.degraded.as_ref()
    }
}

impl fmt::Debug for Embeddings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("Embeddings");
        f.field("model", &self.model).field("dimension", &self.dimension).field("len", &self.len());
        f.field("made", &self.made).field("degraded", &self.degraded).finish_non_exhaustive()
    }
}
