//! Loading a source again when its file is saved.

use std::path::PathBuf;
use std::sync::{Arc, Weak};

use tokio::task::JoinHandle;
use toolcrib_io::files::Watch;
use toolcrib_registry::ToolRegistry;

use crate::Error;

/// A task that loads sources again when their files are saved; it ends when this is dropped.
pub(crate) struct Watcher(JoinHandle<()>);

impl Watcher {
    /// Watches files, each with the name of its source; `None` when there are none.
    pub(crate) fn start(
        files: Vec<(PathBuf, String)>,
        registry: &Arc<ToolRegistry>,
    ) -> Result<Option<Self>, Error> {
        if files.is_empty() {
            return Ok(None);
        }
        let watch = Watch::new(files.iter().map(|(path, _)| path.clone()))
            .map_err(|error| Error::Start { what: "`watch: true`".into(), message: error.to_string() })?;
        Ok(Some(Self(tokio::spawn(reload(watch, files, Arc::downgrade(registry))))))
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn reload(mut watch: Watch, files: Vec<(PathBuf, String)>, registry: Weak<ToolRegistry>) {
    while let Some(saved) = watch.changed().await {
        let Some(registry) = registry.upgrade() else { return };
        for (_, source) in files.iter().filter(|(path, _)| saved.contains(path)) {
            match registry.refresh_source(source).await {
                // What was rejected is in the snapshot; the tools of a broken save stay as they were.
                Ok(snapshot) => {
                    for reject in snapshot.rejected().iter().filter(|reject| reject.source == *source) {
                        tracing::warn!("{reject}");
                    }
                    tracing::info!("{source} was saved: generation {}", snapshot.generation());
                }
                Err(error) => tracing::warn!("{source} was saved, and not loaded: {error}"),
            }
        }
    }
}
