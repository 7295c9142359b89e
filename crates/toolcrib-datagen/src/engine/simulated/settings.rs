//! The settings of simulated tools.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;

use super::error_categories::ErrorCategories;

/// The most samples of one attempt.
const MAX_SAMPLES: u8 = 16;

/// The most attempts of one call.
pub const MAX_ATTEMPTS: u8 = 10;

/// The most earlier calls that a model is given as examples.
pub const MAX_EXAMPLES: usize = 64;

/// The settings of simulated tools, in `tools.engines.<name>` of `type: simulated`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct SimulatedSettings {
    /// The model: the name of an agent, or the settings of a model. Who opens the model reads it.
    pub model: Value,
    /// Instructions to the model about all tools, such as the world that they act in.
    pub instructions: String,
    /// The seed of the injected errors.
    pub seed: u64,
    /// The samples of each attempt.
    #[serde(alias = "n")]
    pub samples: u8,
    /// The attempts before a call fails because no sample is valid.
    pub attempts: u8,
    /// The most earlier calls of the tool that the model is given as examples.
    pub examples: usize,
    /// True if the tools read and change the values of the session.
    pub stateful: bool,
    /// The injected errors.
    pub error_categories: ErrorCategories,
    /// The cache of replies.
    pub cache: CacheSetting,
}

impl Default for SimulatedSettings {
    fn default() -> Self {
        Self {
            model: Value::Null,
            instructions: String::new(),
            seed: 0,
            samples: 1,
            attempts: 2,
            examples: 8,
            stateful: false,
            error_categories: ErrorCategories::default(),
            cache: CacheSetting::default(),
        }
    }
}

impl SimulatedSettings {
    /// Checks the values beyond their types.
    ///
    /// # Errors
    ///
    /// Returns what is wrong with a value.
    pub fn check(&self) -> Result<(), String> {
        if !(1..=MAX_SAMPLES).contains(&self.samples) {
            return Err(format!("`samples` is from 1 to {MAX_SAMPLES}, not {}", self.samples));
        }
        if !(1..=MAX_ATTEMPTS).contains(&self.attempts) {
            return Err(format!("`attempts` is from 1 to {MAX_ATTEMPTS}, not {}", self.attempts));
        }
        if self.examples > MAX_EXAMPLES {
            return Err(format!("`examples` is at most {MAX_EXAMPLES}, not {}", self.examples));
        }
        self.error_categories.check()
    }
}

/// The cache of replies: `true` in memory, `false` for none, or a file that keeps them for later runs.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "must be `true`, `false`, or the path of a file")]
#[non_exhaustive]
pub enum CacheSetting {
    /// In memory, or not at all.
    Memory(bool),
    /// In memory and in a file of lines.
    File(PathBuf),
}

impl Default for CacheSetting {
    fn default() -> Self {
        Self::Memory(true)
    }
}
