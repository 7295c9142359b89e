//! The search index of the current snapshot.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use toolcrib_model::tool::Presence;
use toolcrib_model::{ErrorKind, Tool, ToolError};
use toolcrib_registry::{Snapshot, ToolRegistry};
use toolcrib_search::embedding::{EmbedError, Embeddings};
use toolcrib_search::{SearchIndex, SearchSettings};

/// A snapshot with its index, so that a hit is always looked up in the generation of its index.
pub(crate) struct IndexedSnapshot {
    pub(crate) snapshot: Arc<Snapshot>,
    pub(crate) search: SearchIndex,
    embeddings: Option<Arc<Embeddings>>,
}

impl IndexedSnapshot {
    /// Returns the reason why the search is degraded, if it is.
    pub(crate) fn degraded(&self) -> Option<EmbedError> {
        self.embeddings.as_ref()?.degraded()
    }

    /// Adds the vectors of this generation if they are ready.
    fn attach(&self) {
        if let Some(vectors) = self.embeddings.as_ref().and_then(|embeddings| embeddings.vectors()) {
            self.search.attach(vectors);
        }
    }
}

/// A cache of indexes, which are rebuilt when the registry has a new snapshot.
pub(crate) struct CurrentIndex {
    /// Weak, since the registry holds the loader of the meta-tools, which holds this.
    registry: Weak<ToolRegistry>,
    built: Mutex<Option<Arc<IndexedSnapshot>>>,
    /// The indexes of sessions with session tools, which are removed with the tools.
    sessions: Mutex<HashMap<String, Arc<IndexedSnapshot>>>,
    pub(crate) settings: SearchSettings,
    /// The folder of cached words, for the next start.
    pub(crate) folder: Option<PathBuf>,
}

impl CurrentIndex {
    pub(crate) fn new(registry: &Arc<ToolRegistry>) -> Self {
        Self {
            registry: Arc::downgrade(registry),
            built: Mutex::default(),
            sessions: Mutex::default(),
            settings: SearchSettings::default(),
            folder: None,
        }
    }

    /// Returns the tools of a session.
    pub(crate) fn snapshot_of(&self, session: &str) -> Result<Arc<Snapshot>, ToolError> {
        Ok(self.registry()?.snapshot_of(session))
    }

    fn registry(&self) -> Result<Arc<ToolRegistry>, ToolError> {
        let closed = || ToolError::new(ErrorKind::Cancelled, "the runtime is shutting down");
        self.registry.upgrade().ok_or_else(closed)
    }

    /// Returns the index of the tools of a session. The runtime's tools are not indexed, because they are always shown
    /// to models.
    pub(crate) fn get(&self, session: &str) -> Result<Arc<IndexedSnapshot>, ToolError> {
        let registry = self.registry()?;
        let snapshot = registry.snapshot_of(session);
        if snapshot.is_of_session() {
            self.of_session(session, &registry, snapshot)
        } else {
            self.of_app(&registry)
        }
    }

    /// Returns the index of a session that has session tools. All tools are in one index, so that those of the session
    /// rank like those of the app.
    fn of_session(
        &self,
        session: &str,
        registry: &ToolRegistry,
        snapshot: Arc<Snapshot>,
    ) -> Result<Arc<IndexedSnapshot>, ToolError> {
        let mut sessions = self.sessions.lock();
        sessions.retain(|session, indexed| Arc::ptr_eq(&indexed.snapshot, &registry.snapshot_of(session)));
        if let Some(indexed) = sessions.get(session) {
            indexed.attach();
            return Ok(Arc::clone(indexed));
        }
        // The cache on disk is for the app's tools only.
        let indexed = self.build(snapshot, None)?;
        sessions.insert(session.to_owned(), Arc::clone(&indexed));
        Ok(indexed)
    }

    /// Returns the index of a snapshot that is as new as the current one, or newer. Tools that are always shown to
    /// models are not indexed.
    fn of_app(&self, registry: &ToolRegistry) -> Result<Arc<IndexedSnapshot>, ToolError> {
        let asked = registry.snapshot().generation();
        let mut built = self.built.lock();
        // A caller that waited for another build takes its result, though there may be a newer snapshot by now: if
        // tools change all the time, each waiting caller would build another index otherwise.
        if let Some(indexed) = built.as_ref().filter(|indexed| indexed.snapshot.generation() >= asked) {
            indexed.attach();
            return Ok(Arc::clone(indexed));
        }
        // The current snapshot, not the earlier one: otherwise a caller that waited could replace a newer index with an
        // older one.
        let indexed = self.build(registry.snapshot(), self.folder.as_deref())?;
        *built = Some(Arc::clone(&indexed));
        Ok(indexed)
    }

    fn build(
        &self,
        snapshot: Arc<Snapshot>,
        folder: Option<&Path>,
    ) -> Result<Arc<IndexedSnapshot>, ToolError> {
        let tools = snapshot.iter().map(|entry| entry.tool.as_ref());
        let tools = tools.filter(|tool| is_searchable(tool));
        let search = SearchIndex::build_cached(tools, &self.settings, folder)
            .map_err(|error| ToolError::new(ErrorKind::Internal, format!("the search index: {error}")))?;
        let embeddings = snapshot.artifacts().get(Embeddings::KEY);
        let indexed = Arc::new(IndexedSnapshot { snapshot, search, embeddings });
        indexed.attach();
        Ok(indexed)
    }
}

/// Returns true if a model may have to find the tool. The meta-tools and the essential tools of the runtime are always
/// offered.
fn is_searchable(tool: &Tool) -> bool {
    let traits = tool.traits();
    let is_found = !tool.name.is_of_runtime() || traits.operational && tool.presence() != Presence::Essential;
    is_found && traits.is_for_models()
}
