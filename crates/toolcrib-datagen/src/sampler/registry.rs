//! The samplers by the names in settings.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Sampler;
use super::catalogue::{Catalogue, MissingArtifact};
use super::chain::ChainSampler;
use super::dag::DagSampler;
use super::fan::{Fan, FanSampler};
use super::neighbor::{ConflictSampler, NeighborSampler};
use super::random::RandomSampler;
use super::sparse::SparseSampler;

/// The prefix that task files of `fms-dgt` write before the names of samplers.
const FORMER_PREFIX: &str = "tc/";

type Factory = Arc<dyn Fn(Value, &Catalogue) -> Result<Arc<dyn Sampler>, BuildError> + Send + Sync>;

/// The error of a sampler that cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// No sampler has this name.
    #[error("there is no sampler `{name}`; there is: {}", known.join(", "))]
    UnknownSampler {
        /// The name.
        name: String,
        /// The names of the samplers.
        known: Vec<String>,
    },
    /// The settings do not fit.
    #[error("the settings of the sampler `{name}` are invalid: {reason}")]
    InvalidSettings {
        /// The name.
        name: String,
        /// The reason.
        reason: String,
    },
    /// An artifact is missing.
    #[error(transparent)]
    MissingArtifact(#[from] MissingArtifact),
}

/// The samplers that settings may name. The default has the built-in ones: `random`, `chain`, `fan_out`, `fan_in`,
/// `dag`, `neighbor`, `conflict` and `sparse`, each also with the prefix `tc/`.
#[derive(Clone)]
pub struct Samplers {
    by_name: BTreeMap<String, Factory>,
}

impl Default for Samplers {
    fn default() -> Self {
        Self { by_name: BTreeMap::new() }
            .with("random", |settings, catalogue| Ok(Arc::new(RandomSampler::new(settings, catalogue))))
            .with("chain", |settings, catalogue| Ok(Arc::new(ChainSampler::new(settings, catalogue)?)))
            .with("fan_out", |settings, catalogue| {
                Ok(Arc::new(FanSampler::new(Fan::Out, settings, catalogue)?))
            })
            .with("fan_in", |settings, catalogue| {
                Ok(Arc::new(FanSampler::new(Fan::In, settings, catalogue)?))
            })
            .with("dag", |settings, catalogue| Ok(Arc::new(DagSampler::new(settings, catalogue)?)))
            .with("neighbor", |settings, catalogue| Ok(Arc::new(NeighborSampler::new(settings, catalogue)?)))
            .with("conflict", |settings, catalogue| Ok(Arc::new(ConflictSampler::new(settings, catalogue)?)))
            .with("sparse", |settings, catalogue| {
                let invalid = |reason| BuildError::InvalidSettings { name: "sparse".to_owned(), reason };
                Ok(Arc::new(SparseSampler::new(settings, catalogue).map_err(invalid)?))
            })
    }
}

impl Samplers {
    /// Adds a sampler, or replaces the one of this name.
    pub fn with<S: DeserializeOwned>(
        mut self,
        name: &str,
        build: impl Fn(S, &Catalogue) -> Result<Arc<dyn Sampler>, BuildError> + Send + Sync + 'static,
    ) -> Self {
        let own = name.to_owned();
        let factory = move |settings: Value, catalogue: &Catalogue| {
            let settings = serde_json::from_value(settings).map_err(|error| BuildError::InvalidSettings {
                name: own.clone(),
                reason: error.to_string(),
            })?;
            build(settings, catalogue)
        };
        self.by_name.insert(name.to_owned(), Arc::new(factory));
        self
    }

    /// Returns the names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    /// Builds the sampler that `type` of the settings names.
    ///
    /// # Errors
    ///
    /// Returns an error for an unknown name, settings that do not fit, and an artifact that the catalogue does not have.
    pub fn build(&self, settings: &Value, catalogue: &Catalogue) -> Result<Arc<dyn Sampler>, BuildError> {
        let mut settings = settings.clone();
        let kind = settings.as_object_mut().and_then(|settings| settings.remove("type"));
        let kind = kind.as_ref().and_then(Value::as_str).unwrap_or_default();
        let name = kind.strip_prefix(FORMER_PREFIX).unwrap_or(kind);
        let factory = self.by_name.get(name).ok_or_else(|| BuildError::UnknownSampler {
            name: kind.to_owned(),
            known: self.names().map(str::to_owned).collect(),
        })?;
        factory(settings, catalogue)
    }
}

impl fmt::Debug for Samplers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.by_name.keys()).finish()
    }
}
