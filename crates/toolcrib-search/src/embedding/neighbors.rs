//! The most similar tools of each tool.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use toolcrib_registry::enrichment::ToolKey;
use toolcrib_registry::{Artifacts, Enriched, Enrichment, Snapshot};

use super::parameter_similarity::in_parallel;
use super::{Embeddings, ToolVectors};

/// The number of nearest tools that are compared exactly.
pub const NEIGHBOR_CANDIDATES: usize = 50;

/// The maximum number of neighbours of one tool.
pub const MAX_NEIGHBORS: usize = 10;

/// The cosine from which on two tools are near duplicates.
pub const NEAR_DUPLICATE: f64 = 0.9;

/// A similar tool.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Neighbor {
    /// The tool, which may be another overload of the same name.
    pub tool: Arc<ToolKey>,
    /// The cosine of the vectors of both tools.
    pub similarity: f64,
    /// True if the similarity is at least [`NEAR_DUPLICATE`].
    pub is_near_duplicate: bool,
}

/// The most similar tools of each tool, by the vectors of their texts.
#[derive(Default)]
pub struct Neighbors {
    places: HashMap<Arc<ToolKey>, usize>,
    neighbors: Vec<Vec<Neighbor>>,
}

impl Neighbors {
    /// The key of the artifact.
    pub const KEY: &'static str = "neighbors";

    /// Compares all tools that have a vector. Of [`NEIGHBOR_CANDIDATES`] it keeps [`MAX_NEIGHBORS`].
    pub fn new(vectors: &ToolVectors) -> Self {
        let rows: Vec<u32> = (0..).zip(vectors.keys()).map(|(row, _)| row).collect();
        let neighbors = in_parallel(&rows, |row| of_row(vectors, *row));
        let places = vectors.keys().iter().enumerate().map(|(at, key)| (Arc::clone(key), at)).collect();
        Self { places, neighbors }
    }

    /// Returns the neighbours of a tool, the most similar first; at most [`MAX_NEIGHBORS`].
    pub fn of(&self, tool: &ToolKey) -> &[Neighbor] {
        let neighbors = self.places.get(tool).and_then(|at| self.neighbors.get(*at));
        neighbors.map_or(&[], Vec::as_slice)
    }
}

impl fmt::Debug for Neighbors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Neighbors").field("tools", &self.places.len()).finish_non_exhaustive()
    }
}

fn of_row(vectors: &ToolVectors, row: u32) -> Vec<Neighbor> {
    let index = vectors.index();
    let Some(own) = index.vector(row) else { return Vec::new() };
    let nearest = index.search(&own, NEIGHBOR_CANDIDATES, &|other| other != row);
    // The scan ranks by the dot product, and the vectors of tools are shorter than one.
    let exact =
        nearest.into_iter().filter_map(|(other, _)| Some((other, cosine(&own, &index.vector(other)?)?)));
    let mut exact: Vec<(u32, f64)> = exact.collect();
    exact.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    exact.truncate(MAX_NEIGHBORS);
    let neighbor = |(other, similarity): (u32, f64)| {
        let tool = Arc::clone(vectors.keys().get(other as usize)?);
        Some(Neighbor { tool, similarity, is_near_duplicate: similarity >= NEAR_DUPLICATE })
    };
    exact.into_iter().filter_map(neighbor).collect()
}

fn cosine(one: &[f32], other: &[f32]) -> Option<f64> {
    let product = |one: &[f32], other: &[f32]| {
        one.iter().zip(other).map(|(one, other)| f64::from(*one) * f64::from(*other)).sum::<f64>()
    };
    let cosine = product(one, other) / (product(one, one) * product(other, other)).sqrt();
    cosine.is_finite().then_some(cosine.clamp(-1.0, 1.0))
}

/// The [`Enrichment`] that computes [`Neighbors`] under [`Neighbors::KEY`]. It waits for the [`Embeddings`], and fails
/// if there are no vectors.
#[derive(Clone, Copy, Debug, Default)]
pub struct NeighborsEnrichment;

#[async_trait]
impl Enrichment for NeighborsEnrichment {
    fn key(&self) -> &str {
        Neighbors::KEY
    }

    fn depends_on(&self) -> &[&str] {
        &[Embeddings::KEY]
    }

    async fn run(&self, tools: &Snapshot, artifacts: &Artifacts) -> Result<Enriched, String> {
        let vectors = Embeddings::finished_in(artifacts).await?;
        let tools = tools.all().to_vec();
        let compute = move || ToolVectors::new(&tools, &vectors).map(|vectors| Neighbors::new(&vectors));
        let neighbors = tokio::task::spawn_blocking(compute).await.map_err(|error| error.to_string())?;
        Ok(Enriched::new(neighbors.map_err(|error| error.to_string())?))
    }
}
