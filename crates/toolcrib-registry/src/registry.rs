//! The loaders, and the snapshot that they made.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use arc_swap::ArcSwap;
use futures::FutureExt;
use toolcrib_model::Tool;
use toolcrib_port::{Loaded, Reject, RejectKind, ToolLoader};

use crate::Snapshot;

/// How long one source may take to load before the others go on without it. Loaders have shorter bounds of their own;
/// this one holds for those that forget.
pub const LOAD_TIMEOUT: Duration = Duration::from_secs(30);

/// The store of tools.
#[derive(Default)]
pub struct ToolRegistry {
    loaders: RwLock<Vec<Arc<dyn ToolLoader>>>,
    current: ArcSwap<Snapshot>,
    /// One refresh at a time, so that generations follow each other.
    refreshing: tokio::sync::Mutex<()>,
}

/// Two tools have one name and one schema, or a tool cannot be used at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reject}")]
pub struct DuplicateTool {
    /// What was refused, and why.
    pub reject: Reject,
}

impl ToolRegistry {
    /// An empty registry.
    pub fn new() -> Self {
        Self::default()
    }

    /// A registry of tools that are there already. Unlike a source, the caller is at fault for a tool that cannot be
    /// used, so one of them refuses the whole.
    pub fn from_tools(source: &str, tools: impl IntoIterator<Item = Tool>) -> Result<Self, DuplicateTool> {
        let loaded = Loaded { tools: tools.into_iter().collect(), rejected: Vec::new() };
        let snapshot = Snapshot::build(1, vec![(source.into(), loaded)]);
        match snapshot.rejected().first() {
            Some(reject) => Err(DuplicateTool { reject: reject.clone() }),
            None => Ok(Self { current: ArcSwap::from_pointee(snapshot), ..Self::default() }),
        }
    }

    /// A registry that has loaded these sources.
    pub async fn from_loaders(loaders: impl IntoIterator<Item = Arc<dyn ToolLoader>>) -> Self {
        let registry = Self { loaders: RwLock::new(loaders.into_iter().collect()), ..Self::default() };
        registry.refresh().await;
        registry
    }

    /// Adds a source, to be loaded by the next [`refresh`](Self::refresh).
    pub fn add_loader(&self, loader: Arc<dyn ToolLoader>) {
        self.loaders.write().unwrap_or_else(PoisonError::into_inner).push(loader);
    }

    /// The tools as they are now. What was taken stays as it is, whatever is refreshed meanwhile.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// Runs all loaders side by side and swaps the new snapshot in. A loader that panics or hangs is a reject.
    pub async fn refresh(&self) -> Arc<Snapshot> {
        let _turn = self.refreshing.lock().await;
        let loaders = self.loaders.read().unwrap_or_else(PoisonError::into_inner).clone();
        let sources = futures::future::join_all(loaders.iter().map(|loader| load(loader.as_ref()))).await;
        let snapshot = Arc::new(Snapshot::build(self.snapshot().generation() + 1, sources));
        for reject in snapshot.rejected() {
            tracing::warn!(source = %reject.source, name = reject.name.as_deref(), "not loaded: {}", reject.reason);
        }
        self.current.store(Arc::clone(&snapshot));
        snapshot
    }
}

async fn load(loader: &dyn ToolLoader) -> (Arc<str>, Loaded) {
    let source = loader.source();
    let loaded =
        match tokio::time::timeout(LOAD_TIMEOUT, AssertUnwindSafe(loader.load()).catch_unwind()).await {
            Ok(Ok(loaded)) => loaded,
            Ok(Err(_)) => {
                Loaded::failed(source, RejectKind::Unavailable, "the loader panicked; this is a fault in it")
            }
            Err(_) => Loaded::failed(
                source,
                RejectKind::Unavailable,
                format!("no answer within {} seconds", LOAD_TIMEOUT.as_secs()),
            ),
        };
    (source.into(), loaded)
}
