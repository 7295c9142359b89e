//! The artifacts of enrichments.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// The artifact of one enrichment, of any type.
pub type Artifact = Arc<dyn Any + Send + Sync>;

/// The artifacts of one snapshot, by the keys of their enrichments. A new kind of enrichment adds a key and changes
/// nothing else.
#[derive(Clone, Default)]
pub struct Artifacts {
    by_key: BTreeMap<String, Artifact>,
}

impl Artifacts {
    /// Returns the artifact of a key if it exists and has this type.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use toolcrib_registry::Artifacts;
    ///
    /// let artifacts = Artifacts::default().with("count", Arc::new(3_usize));
    /// assert_eq!(artifacts.get::<usize>("count").as_deref(), Some(&3));
    /// assert!(artifacts.get::<String>("count").is_none());
    /// ```
    pub fn get<T: Any + Send + Sync>(&self, key: &str) -> Option<Arc<T>> {
        Arc::clone(self.by_key.get(key)?).downcast().ok()
    }

    /// Adds an artifact.
    pub fn with(mut self, key: impl Into<String>, artifact: Artifact) -> Self {
        self.by_key.insert(key.into(), artifact);
        self
    }

    /// Returns the keys that have an artifact, sorted.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.by_key.keys().map(String::as_str)
    }
}

impl fmt::Debug for Artifacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.by_key.keys()).finish()
    }
}
