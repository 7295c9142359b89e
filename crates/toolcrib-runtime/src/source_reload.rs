//! Loading a source again when its file is saved, or when it says that it has changed.

use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::task::JoinSet;
use toolcrib_app::App;
use toolcrib_io::files::Watch;
use toolcrib_port::ToolLoader;
use toolcrib_registry::ToolRegistry;

use crate::Error;

/// The delay after a source reported a change, since changes often come in groups.
const SETTLING: Duration = Duration::from_millis(250);

/// The minimum time between two loads of a source.
const PAUSE: Duration = Duration::from_secs(2);

/// Tells when the file of an app is saved, until this is dropped.
pub struct AppWatch(Watch);

impl AppWatch {
    /// Watches the file of an app. What it names, files of tools and other apps, is not watched by this.
    pub fn new(app: &App) -> Result<Self, Error> {
        let failed = |error: toolcrib_io::Error| Error::Start {
            what: "watching the app file".into(),
            message: error.to_string(),
        };
        Watch::new([PathBuf::from(&app.file.name)]).map(Self).map_err(failed)
    }

    /// Waits until the file is saved; `false` when that cannot be told any more.
    pub async fn saved(&mut self) -> bool {
        self.0.changed().await.is_some()
    }
}

/// Tasks that load sources again; they end when they are stopped, or this is dropped.
pub(crate) struct Watcher {
    tasks: Mutex<JoinSet<()>>,
}

impl Watcher {
    /// Watches files, each with the name of its source, and listens to the sources themselves.
    pub(crate) fn start(
        files: Vec<(PathBuf, String)>,
        loaders: Vec<Arc<dyn ToolLoader>>,
        registry: &Arc<ToolRegistry>,
    ) -> Result<Self, Error> {
        let mut tasks = JoinSet::new();
        if !files.is_empty() {
            let watch = Watch::new(files.iter().map(|(path, _)| path.clone()))
                .map_err(|error| Error::Start { what: "`watch: true`".into(), message: error.to_string() })?;
            tasks.spawn(saved(watch, files, loaders.clone(), Arc::downgrade(registry)));
        }
        for loader in loaders {
            tasks.spawn(changed(loader, Arc::downgrade(registry)));
        }
        Ok(Self { tasks: Mutex::new(tasks) })
    }

    /// Loads nothing any more.
    pub(crate) fn stop(&self) {
        self.tasks.lock().abort_all();
    }
}

async fn saved(
    mut watch: Watch,
    files: Vec<(PathBuf, String)>,
    loaders: Vec<Arc<dyn ToolLoader>>,
    registry: Weak<ToolRegistry>,
) {
    while let Some(saved) = watch.changed().await {
        for (_, source) in files.iter().filter(|(path, _)| saved.contains(path)) {
            let Some(registry) = registry.upgrade() else { return };
            loaders.iter().filter(|loader| loader.source() == source).for_each(|loader| loader.saved());
            reload(&registry, source, "was saved").await;
        }
    }
}

async fn changed(loader: Arc<dyn ToolLoader>, registry: Weak<ToolRegistry>) {
    loop {
        loader.changed().await;
        tokio::time::sleep(SETTLING).await;
        let Some(strong) = registry.upgrade() else { return };
        reload(&strong, loader.source(), "has changed").await;
        drop(strong);
        tokio::time::sleep(PAUSE).await;
    }
}

async fn reload(registry: &ToolRegistry, source: &str, event: &str) {
    match registry.refresh_source(source).await {
        // The registry warns of what is rejected; the tools of a source that fails as a whole stay as they were.
        Ok(snapshot) => tracing::info!("{source} {event}: generation {}", snapshot.generation()),
        Err(error) => tracing::warn!("{source} {event}, and was not loaded: {error}"),
    }
}

#[cfg(test)]
mod tests;
