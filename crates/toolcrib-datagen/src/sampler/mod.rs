//! Samplers: seeded choices of tools that conversations are made of.
//!
//! A sampler is built once for a [`Catalogue`], which names a missing artifact then, and is stateless afterwards: it may
//! be used from many threads, and equal seeds give equal samples.
//!
//! ```
//! use serde_json::json;
//! use toolcrib_datagen::sampler::{Catalogue, SampleRequest, Samplers};
//! use toolcrib_model::{QualifiedName, Tool};
//! use toolcrib_registry::ToolRegistry;
//!
//! let tool = |name: &str| QualifiedName::new("files", name).map(Tool::new);
//! let registry = ToolRegistry::from_tools("example", [tool("read")?, tool("write")?, tool("remove")?])?;
//! let catalogue = Catalogue::new(&registry.snapshot());
//! let sampler = Samplers::default().build(&json!({"type": "random"}), &catalogue)?;
//! let sample = sampler.sample(&SampleRequest::new(2, 7))?;
//! assert_eq!(sample.tools.len(), 2);
//! assert_eq!(sampler.sample(&SampleRequest::new(2, 7))?.names(), sample.names());
//!
//! let error = sampler.sample(&SampleRequest::new(4, 7)).unwrap_err();
//! assert_eq!((error.requested, error.tools), (4, 3));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod catalogue;
mod chain;
mod dag;
mod fan;
mod neighbor;
mod random;
mod registry;
mod sparse;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use toolcrib_registry::Entry;

pub use catalogue::{Catalogue, MissingArtifact};
pub use chain::ChainSettings;
pub use dag::DagSettings;
pub use fan::FanSettings;
pub use neighbor::{ConflictSettings, NeighborSettings};
pub use random::{RandomMode, RandomSettings};
pub use registry::{BuildError, Samplers};
pub use sparse::SparseSettings;

/// A source of samples.
pub trait Sampler: Send + Sync {
    /// Returns exactly as many different tools as requested. Overloads of one name are different tools.
    ///
    /// # Errors
    ///
    /// Returns an error if the catalogue has no such sample.
    fn sample(&self, request: &SampleRequest) -> Result<Sample, SamplingError>;
}

/// A request for a sample. The options override the settings of the sampler for this request, where they apply.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct SampleRequest {
    /// The number of tools.
    pub count: usize,
    /// The seed of all random choices.
    pub seed: u64,
    /// The namespaces that tools are taken from.
    pub namespaces: Option<Vec<String>>,
    /// The minimum score of an edge of the dataflow.
    pub min_score: Option<f64>,
    /// The temperature of a choice among similar tools.
    pub temperature: Option<f64>,
    /// The number of distractors.
    pub distractors: Option<usize>,
}

impl SampleRequest {
    /// Creates a request without overrides.
    pub fn new(count: usize, seed: u64) -> Self {
        Self { count, seed, ..Self::default() }
    }
}

/// Chosen tools.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Sample {
    /// The tools, in the order that the sampler promises: a chain from its first tool to its last.
    pub tools: Vec<Arc<Entry>>,
    /// Tools that are similar to the chosen ones and are not needed, of samplers that add them.
    pub distractors: Vec<Arc<Entry>>,
}

impl Sample {
    /// Returns the names of the tools.
    pub fn names(&self) -> Vec<String> {
        self.tools.iter().map(|entry| entry.tool.name.to_string()).collect()
    }
}

/// The error of a sampler.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}: requested {requested}, found {tools} tools to choose from")]
#[non_exhaustive]
pub struct SamplingError {
    /// The cause.
    pub message: String,
    /// The requested number of tools.
    pub requested: usize,
    /// The number of tools that the sampler could choose from.
    pub tools: usize,
}

impl SamplingError {
    /// Creates an error.
    pub fn new(message: impl Into<String>, requested: usize, tools: usize) -> Self {
        Self { message: message.into(), requested, tools }
    }
}
