//! The registry: it runs the loaders and publishes their tools as snapshots.

use std::collections::HashSet;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use parking_lot::RwLock;
use toolcrib_model::Tool;
use toolcrib_port::{LoadOutcome, Reject, RejectKind, ToolEngine, ToolLoader};

use super::sync::{ArcSwap, Mutex, broadcast, run_blocking, timeout};
use crate::build::{LoadedSource, build};
use crate::enrichment::{EnrichmentError, sort_by_dependencies};
use crate::shape::Shapes;
use crate::{Artifacts, Change, Enrichment, SessionTools, Snapshot};

/// The maximum time for one source to load before the others continue without it. Loaders have shorter limits, such as
/// for the start of a server; this one covers loaders without a limit.
const LOAD_TIMEOUT: Duration = Duration::from_secs(130);

/// The maximum number of changes that a subscriber may lag behind before it misses some.
const MAX_PENDING_CHANGES: usize = 64;

/// The registry of tools.
pub struct ToolRegistry {
    loaders: RwLock<Vec<Arc<dyn ToolLoader>>>,
    /// The enrichments, in the order in which they run.
    enrichments: Vec<Arc<dyn Enrichment>>,
    current: ArcSwap<Snapshot>,
    /// The last load of each source. The lock is held during a whole refresh, so that refreshes run one after the
    /// other.
    sources: Mutex<Vec<LoadedSource>>,
    changes: broadcast::Sender<Arc<Change>>,
    session_tools: SessionTools,
    shapes: Arc<Shapes>,
}

/// The error for directly given tools that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reject}")]
pub struct InvalidTools {
    /// The first rejected tool, with the reason.
    pub reject: Reject,
}

/// The error of a failed refresh, which changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RefreshError {
    /// An enrichment failed.
    #[error("the enrichment `{key}` failed, so the tools stay as they were: {message}")]
    Enrichment {
        /// The key of the enrichment.
        key: String,
        /// The error of the enrichment.
        message: String,
    },
    /// No loader has this source.
    #[error("there is no source `{source_name}`")]
    UnknownSource {
        /// The requested name.
        source_name: String,
    },
}

impl Default for ToolRegistry {
    fn default() -> Self {
        Self {
            loaders: RwLock::default(),
            enrichments: Vec::new(),
            current: ArcSwap::default(),
            sources: Mutex::default(),
            changes: broadcast::Sender::new(MAX_PENDING_CHANGES),
            session_tools: SessionTools::default(),
            shapes: Arc::default(),
        }
    }
}

impl ToolRegistry {
    /// Creates an empty registry.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a registry of existing tools. Unlike with a source, the caller is responsible for a tool that cannot be
    /// used, so one such tool is an error.
    pub fn from_tools(source: &str, tools: impl IntoIterator<Item = Tool>) -> Result<Self, InvalidTools> {
        let loaded = LoadOutcome { tools: tools.into_iter().collect(), rejected: Vec::new() };
        let sources = &mut [LoadedSource::new(source, None, loaded)];
        let snapshot = build(&Snapshot::default(), sources, &Shapes::default());
        if let Some(reject) = snapshot.rejected().first() {
            return Err(InvalidTools { reject: reject.clone() });
        }
        let registry = Self { current: ArcSwap::from_pointee(snapshot), ..Self::default() };
        registry.session_tools.rebase(&registry.snapshot(), std::iter::empty());
        Ok(registry)
    }

    /// Creates a registry and loads these sources.
    pub async fn from_loaders(loaders: impl IntoIterator<Item = Arc<dyn ToolLoader>>) -> Self {
        Self::from_shaped_loaders(loaders, Arc::default()).await
    }

    /// Creates a registry with shapes and loads these sources.
    pub async fn from_shaped_loaders(
        loaders: impl IntoIterator<Item = Arc<dyn ToolLoader>>,
        shapes: Arc<Shapes>,
    ) -> Self {
        let loaders = RwLock::new(loaders.into_iter().collect());
        let registry = Self { loaders, shapes, ..Self::default() };
        // A refresh without enrichments cannot fail.
        let _ = registry.refresh().await;
        registry
    }

    /// Sets the shapes of tools, which apply from the next [`refresh`](Self::refresh) on.
    pub fn with_shapes(mut self, shapes: Arc<Shapes>) -> Self {
        self.shapes = shapes;
        self
    }

    /// Sets the enrichments that run after each load, in any order.
    pub fn with_enrichments(
        mut self,
        enrichments: impl IntoIterator<Item = Arc<dyn Enrichment>>,
    ) -> Result<Self, EnrichmentError> {
        self.enrichments = sort_by_dependencies(&enrichments.into_iter().collect::<Vec<_>>())?;
        Ok(self)
    }

    /// Sets the store for the tools of single sessions.
    pub fn with_session_tools(mut self, session_tools: SessionTools) -> Self {
        session_tools.rebase(&self.snapshot(), std::iter::empty());
        self.session_tools = session_tools;
        self
    }

    /// Adds a source, which the next [`refresh`](Self::refresh) loads.
    pub fn add_loader(&self, loader: Arc<dyn ToolLoader>) {
        self.loaders.write().push(loader);
    }

    /// Returns the current snapshot. Later refreshes do not change it.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// Returns the current tools of a session: those of the app, and those that the session has added.
    pub fn snapshot_of(&self, session: &str) -> Arc<Snapshot> {
        self.session_tools.snapshot(session).unwrap_or_else(|| self.snapshot())
    }

    /// Returns the engine of a source that a session has added.
    pub fn session_engine(&self, session: &str, source: &str) -> Option<Arc<dyn ToolEngine>> {
        self.session_tools.engine(session, source)
    }

    /// Removes the tools that a session has added.
    pub fn end_session(&self, session: &str) {
        self.session_tools.remove_session(session);
    }

    /// Subscribes to the changes of later refreshes. A refresh that changes nothing sends nothing.
    pub fn subscribe(&self) -> broadcast::Receiver<Arc<Change>> {
        self.changes.subscribe()
    }

    /// Runs all loaders concurrently, then the enrichments in their order, and swaps in the new snapshot; changes
    /// nothing if an enrichment fails. A loader that panics or hangs becomes a reject. A source that fails as a whole
    /// keeps its previous tools, in addition to the reject.
    pub async fn refresh(&self) -> Result<Arc<Snapshot>, RefreshError> {
        let mut known = self.sources.lock().await;
        let loaders = self.loaders.read().clone();
        let loaded = futures::future::join_all(loaders.iter().map(|loader| load(loader.as_ref()))).await;
        let sources = loaded.into_iter().map(|source| {
            let before = known.iter().find(|before| before.name == source.name);
            or_before(source, before)
        });
        let sources = sources.collect();
        self.publish(&mut known, sources).await
    }

    /// Refreshes one source, named as its loader names it; the others stay as they were loaded.
    pub async fn refresh_source(&self, source: &str) -> Result<Arc<Snapshot>, RefreshError> {
        let mut known = self.sources.lock().await;
        let loader = {
            let loaders = self.loaders.read();
            loaders.iter().find(|loader| loader.source() == source).cloned()
        };
        let unknown = || RefreshError::UnknownSource { source_name: source.to_owned() };
        let loaded = load(loader.ok_or_else(unknown)?.as_ref()).await;
        let mut sources = known.clone();
        match sources.iter_mut().find(|known| known.name == loaded.name) {
            Some(before) => *before = or_before(loaded, Some(before)),
            None => sources.push(loaded),
        }
        self.publish(&mut known, sources).await
    }

    async fn publish(
        &self,
        known: &mut Vec<LoadedSource>,
        sources: Vec<LoadedSource>,
    ) -> Result<Arc<Snapshot>, RefreshError> {
        let (before, shapes) = (self.snapshot(), Arc::clone(&self.shapes));
        let (before, snapshot, sources) = run_blocking(move || {
            let mut sources = sources;
            let snapshot = build(&before, &mut sources, &shapes);
            (before, snapshot, sources)
        })
        .await;
        let (mut snapshot, mut artifacts) = (snapshot, Artifacts::default());
        for enrichment in &self.enrichments {
            let key = enrichment.key().to_owned();
            let failed = |message| RefreshError::Enrichment { key: key.clone(), message };
            let running = AssertUnwindSafe(enrichment.run(&snapshot, &artifacts)).catch_unwind();
            let enriched = running.await.unwrap_or_else(|_| Err("it panicked".into())).map_err(failed)?;
            snapshot.patch(&enriched.patches, &before).map_err(failed)?;
            artifacts = artifacts.with(key.clone(), enriched.artifact);
        }
        let snapshot = Arc::new(snapshot.with_artifacts(artifacts));
        // The program that starts a registry reads those of the first load from the snapshot.
        let is_first_load = before.generation() == 0;
        for Reject { source, name, reason, .. } in newly_rejected(&before, &snapshot) {
            if is_first_load {
                tracing::info!(%source, name = name.as_deref(), "not loaded: {reason}");
            } else {
                tracing::warn!(%source, name = name.as_deref(), "not loaded: {reason}");
            }
        }
        *known = sources;
        self.current.store(Arc::clone(&snapshot));
        self.session_tools.rebase(&snapshot, known.iter().filter_map(LoadedSource::exclusive_namespace));
        let change = Change::between(&before, &snapshot);
        if !change.is_empty() {
            // Sending fails if there are no subscribers.
            let _ = self.changes.send(Arc::new(change));
        }
        Ok(snapshot)
    }
}

/// Returns the rejects that are new, so that a source that cannot be loaded causes one warning instead of one per
/// refresh.
pub(crate) fn newly_rejected<'a>(before: &Snapshot, now: &'a Snapshot) -> Vec<&'a Reject> {
    let known: HashSet<_> = before.rejected().iter().map(identity).collect();
    let is_new = |reject: &&Reject| !known.contains(&identity(reject));
    now.rejected().iter().filter(is_new).collect::<Vec<_>>()
}

/// Returns the identity of a reject. The reason is not part of it: it may say when the source is tried again.
fn identity(reject: &Reject) -> (&str, Option<&str>, RejectKind) {
    (&reject.source, reject.name.as_deref(), reject.kind)
}

/// Returns the current load of a source, with its previous tools if it failed as a whole.
fn or_before(mut source: LoadedSource, before: Option<&LoadedSource>) -> LoadedSource {
    let failed = source.tools.is_empty() && source.rejected.iter().any(|reject| reject.name.is_none());
    if failed && let Some(before) = before {
        source.tools.clone_from(&before.tools);
    }
    source
}

async fn load(loader: &dyn ToolLoader) -> LoadedSource {
    let source = loader.source();
    let loaded = match timeout(LOAD_TIMEOUT, AssertUnwindSafe(loader.load()).catch_unwind()).await {
        Ok(Ok(loaded)) => loaded,
        Ok(Err(_)) => {
            LoadOutcome::failed(source, RejectKind::Unavailable, "the loader panicked; this is a fault in it")
        }
        Err(_) => LoadOutcome::failed(
            source,
            RejectKind::Unavailable,
            format!("no answer within {} seconds", LOAD_TIMEOUT.as_secs()),
        ),
    };
    LoadedSource::new(source, loader.exclusive_namespace(), loaded)
}
