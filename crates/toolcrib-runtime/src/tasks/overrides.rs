//! The overrides of a running app, which follow the changes of other processes.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::{Mutex, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use toolcrib_policy::{OverrideTarget, Overrides};
use toolcrib_port::ToolLoader;
use toolcrib_tasks::store::StoreError;
use toolcrib_tasks::{OverrideStore, StoreLocation, TaskStore};

use super::start_error;
use crate::Error;
use crate::services::AppServices;

/// The time between two attempts to read overrides that could not be read.
const RETRY_INTERVAL: Duration = Duration::from_secs(5);

/// The overrides of a running app.
pub(crate) struct ActiveOverrides {
    /// The location of the store; `None` if the overrides end with the process.
    location: Option<StoreLocation>,
    /// The number of changes.
    changes: watch::Sender<u64>,
    closing: CancellationToken,
    /// Held while overrides are applied.
    applying: Mutex<()>,
    /// The task that follows changes and has the store open.
    follower: TaskTracker,
}

impl ActiveOverrides {
    /// Applies the overrides in the store of an app. A process that runs for long follows the changes.
    pub(crate) async fn open(services: &Arc<AppServices>) -> Result<Arc<Self>, Error> {
        let location = services.app.store_location()?;
        let active = Arc::new(Self {
            location,
            changes: watch::Sender::new(0),
            closing: CancellationToken::new(),
            applying: Mutex::default(),
            follower: TaskTracker::new(),
        });
        let Some(store) = active.stored().await? else { return Ok(active) };
        let read = store.read().await.map_err(|error| unreadable(&error))?;
        // Before the sources are loaded, so that a disabled one does not start.
        suspend(services, &Overrides::default(), &read).await;
        services.executor.policy().set_overrides(read);
        if services.options.tasks == TaskStore::Resident {
            let closing = active.closing.clone();
            active.follower.spawn(follow(
                store,
                (Arc::downgrade(services), Arc::downgrade(&active)),
                closing,
            ));
        } else {
            store.close().await;
        }
        Ok(active)
    }

    /// Returns the store, if there is one.
    async fn stored(&self) -> Result<Option<OverrideStore>, Error> {
        match &self.location {
            Some(location) => OverrideStore::open(location).await.map_err(|error| unreadable(&error)),
            None => Ok(None),
        }
    }

    /// Returns a receiver of changes.
    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Selects the profile of the clients that no other profile limits, or none.
    pub(crate) async fn use_profile(
        &self,
        services: &AppServices,
        profile: Option<&str>,
    ) -> Result<(), Error> {
        let changed = Overrides {
            profile: profile.map(str::to_owned),
            ..Overrides::clone(&services.executor.policy().overrides())
        };
        let write = async |store: &OverrideStore| store.use_profile(profile).await;
        self.change(services, changed, write).await
    }

    /// Enables or disables a target, or removes its override.
    pub(crate) async fn set(
        &self,
        services: &AppServices,
        target: &OverrideTarget,
        is_enabled: Option<bool>,
    ) -> Result<(), Error> {
        let mut changed = Overrides::clone(&services.executor.policy().overrides());
        match is_enabled {
            Some(is_enabled) => changed.targets.insert(target.clone(), is_enabled),
            None => changed.targets.remove(target),
        };
        let write = async |store: &OverrideStore| store.set(target, is_enabled).await;
        self.change(services, changed, write).await
    }

    /// Writes a change to the store, and applies what the store has then. Without a store, applies the change alone.
    async fn change(
        &self,
        services: &AppServices,
        changed: Overrides,
        write: impl AsyncFnOnce(&OverrideStore) -> Result<(), StoreError>,
    ) -> Result<(), Error> {
        let Some(location) = &self.location else {
            self.apply(services, changed).await;
            return Ok(());
        };
        let store = OverrideStore::open_to_change(location).await.map_err(|error| start_error(&error))?;
        let written = async {
            write(&store).await?;
            store.read().await
        };
        let written = written.await;
        store.close().await;
        self.apply(services, written.map_err(|error| unreadable(&error))?).await;
        Ok(())
    }

    /// Applies overrides, and tells of it if they differ from the earlier ones.
    async fn apply(&self, services: &AppServices, overrides: Overrides) {
        let _applying = self.applying.lock().await;
        let policy = services.executor.policy();
        let before = policy.overrides();
        if *before == overrides {
            return;
        }
        policy.set_overrides(overrides.clone());
        services.setups.forget();
        self.changes.send_modify(|changes| *changes += 1);
        suspend(services, &before, &overrides).await;
    }

    /// Stops following changes, and closes the store.
    pub(crate) async fn close(&self) {
        self.closing.cancel();
        self.follower.close();
        // The last connection that is closed merges the write-ahead log into the file.
        self.follower.wait().await;
    }
}

impl Drop for ActiveOverrides {
    fn drop(&mut self) {
        self.closing.cancel();
    }
}

/// Suspends the sources that have been disabled, and lets those be used again that have been enabled. They load their
/// tools in the background.
async fn suspend(services: &AppServices, before: &Overrides, now: &Overrides) {
    for loader in &services.loaders {
        let is_suspended = is_disabled(loader.as_ref(), now);
        if is_suspended == is_disabled(loader.as_ref(), before) {
            continue;
        }
        loader.set_suspended(is_suspended).await;
        if is_suspended {
            continue;
        }
        let (registry, source) = (Arc::clone(services.executor.registry()), loader.source().to_owned());
        tokio::spawn(async move {
            if let Err(error) = registry.refresh_source(&source).await {
                tracing::warn!(%error, source, "a source that was enabled cannot be loaded");
            }
        });
    }
}

/// Returns true if all tools of a source are disabled with it.
pub(super) fn is_disabled(loader: &dyn ToolLoader, overrides: &Overrides) -> bool {
    let is_off = |target: &OverrideTarget| overrides.targets.get(target) == Some(&false);
    let namespace = loader.exclusive_namespace();
    let is_own = |tool: &str| tool.split_once('.').is_some_and(|(of_tool, _)| Some(of_tool) == namespace);
    let is_exception = |(target, is_enabled): (&OverrideTarget, &bool)| {
        *is_enabled && matches!(target, OverrideTarget::Tool(tool) if is_own(tool))
    };
    (is_off(&OverrideTarget::Source(loader.source().to_owned()))
        || namespace.is_some_and(|name| is_off(&OverrideTarget::Namespace(name.to_owned()))))
        && !overrides.targets.iter().any(is_exception)
}

/// Applies the changes of other processes until the app is closed. While they cannot be read, the earlier ones apply.
async fn follow(
    store: OverrideStore,
    (services, active): (Weak<AppServices>, Weak<ActiveOverrides>),
    closing: CancellationToken,
) {
    let following = async {
        let mut is_current = true;
        loop {
            let read = async {
                if is_current {
                    store.changed().await?;
                }
                store.read().await
            };
            match read.await {
                Ok(read) => {
                    let (Some(services), Some(active)) = (services.upgrade(), active.upgrade()) else {
                        return;
                    };
                    active.apply(&services, read).await;
                    is_current = true;
                }
                Err(error) => {
                    tracing::warn!(%error, "the overrides cannot be read, and stay as they are");
                    is_current = false;
                    tokio::time::sleep(RETRY_INTERVAL).await;
                }
            }
        }
    };
    closing.run_until_cancelled(following).await;
    store.close().await;
}

fn unreadable(error: &StoreError) -> Error {
    Error::Start {
        what: "the overrides of `toolcrib enable`, `disable` and `profile use`".into(),
        message: error.to_string(),
    }
}
