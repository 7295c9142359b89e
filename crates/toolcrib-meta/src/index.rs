//! The search index of the current snapshot.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use toolcrib_model::{ErrorKind, ToolError};
use toolcrib_policy::RUNTIME_NAMESPACE;
use toolcrib_registry::{Snapshot, ToolRegistry};
use toolcrib_search::SearchIndex;

/// A snapshot with its index, so that a hit is always looked up in the generation that it was found in.
pub(crate) struct Indexed {
    pub(crate) snapshot: Arc<Snapshot>,
    pub(crate) search: SearchIndex,
}

/// Builds the index again when the registry has a new snapshot.
pub(crate) struct CurrentIndex {
    /// Weak, since the registry holds the loader of the meta-tools, which holds this.
    registry: Weak<ToolRegistry>,
    built: Mutex<Option<Arc<Indexed>>>,
}

impl CurrentIndex {
    pub(crate) fn new(registry: &Arc<ToolRegistry>) -> Self {
        Self { registry: Arc::downgrade(registry), built: Mutex::default() }
    }

    pub(crate) fn snapshot(&self) -> Result<Arc<Snapshot>, ToolError> {
        match self.registry.upgrade() {
            Some(registry) => Ok(registry.snapshot()),
            None => Err(ToolError::new(ErrorKind::Cancelled, "the runtime is shutting down")),
        }
    }

    /// The index of the current snapshot. The runtime's own tools are not in it: a model is shown those anyway.
    pub(crate) fn get(&self) -> Result<Arc<Indexed>, ToolError> {
        let snapshot = self.snapshot()?;
        let mut built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(indexed) = built.as_ref().filter(|indexed| Arc::ptr_eq(&indexed.snapshot, &snapshot)) {
            return Ok(Arc::clone(indexed));
        }
        let tools = snapshot.iter().map(|entry| entry.tool.as_ref());
        let search = SearchIndex::build(tools.filter(|tool| tool.name.namespace() != RUNTIME_NAMESPACE))
            .map_err(|error| ToolError::new(ErrorKind::Internal, format!("the search index: {error}")))?;
        let indexed = Arc::new(Indexed { snapshot, search });
        *built = Some(Arc::clone(&indexed));
        Ok(indexed)
    }
}
