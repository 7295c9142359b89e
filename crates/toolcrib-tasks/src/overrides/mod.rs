//! The overrides of a running app, which follow the changes of other processes.

mod store;
mod target;

#[cfg(test)]
mod tests;

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::{Mutex, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use toolcrib_policy::{OverrideTarget, Overrides, Policy};
use toolcrib_port::ToolLoader;
use toolcrib_registry::ToolRegistry;

use self::store::OverrideStore;
pub use self::target::OverrideError;
use crate::store::StoreError;
use crate::{StoreLocation, TaskStore};

/// The time between two attempts to read overrides that could not be read.
const RETRY_INTERVAL: Duration = Duration::from_secs(5);

/// The overrides of a running app.
pub struct ActiveOverrides {
    registry: Arc<ToolRegistry>,
    policy: Arc<Policy>,
    /// The sources that are suspended while all of their tools are disabled.
    loaders: Vec<Arc<dyn ToolLoader>>,
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
    /// Applies the overrides in a store to a policy, and suspends the sources that they disable. A process with a
    /// [resident](TaskStore::Resident) store follows the changes.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be read.
    pub async fn open(
        (location, mode): (Option<StoreLocation>, TaskStore),
        (registry, policy): (&Arc<ToolRegistry>, &Arc<Policy>),
        loaders: &[Arc<dyn ToolLoader>],
    ) -> Result<Arc<Self>, StoreError> {
        let active = Arc::new(Self {
            registry: Arc::clone(registry),
            policy: Arc::clone(policy),
            loaders: loaders.to_vec(),
            location,
            changes: watch::Sender::new(0),
            closing: CancellationToken::new(),
            applying: Mutex::default(),
            follower: TaskTracker::new(),
        });
        let Some(location) = &active.location else { return Ok(active) };
        let Some(store) = OverrideStore::open(location).await? else { return Ok(active) };
        let read = store.read().await?;
        // Before the sources are loaded, so that a disabled one does not start.
        active.suspend(&Overrides::default(), &read).await;
        active.policy.set_overrides(read);
        if mode == TaskStore::Resident {
            let closing = active.closing.clone();
            active.follower.spawn(follow(store, Arc::downgrade(&active), closing));
        } else {
            store.close().await;
        }
        Ok(active)
    }

    /// Returns a receiver of changes of the overrides, which are those of the [policy](Policy::overrides).
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Selects the profile of the clients that no other profile limits, or none, for all processes that share the store.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be written to.
    pub async fn use_profile(&self, profile: Option<&str>) -> Result<(), OverrideError> {
        let profile = profile.map(str::to_owned);
        let changed = Overrides { profile: profile.clone(), ..Overrides::clone(&self.policy.overrides()) };
        self.change(changed, async |store| store.use_profile(profile.as_deref()).await).await
    }

    /// Enables or disables a target, or removes its override, for all processes that share the store.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be written to.
    pub async fn set(&self, target: &OverrideTarget, is_enabled: Option<bool>) -> Result<(), OverrideError> {
        let mut changed = Overrides::clone(&self.policy.overrides());
        match is_enabled {
            Some(is_enabled) => changed.targets.insert(target.clone(), is_enabled),
            None => changed.targets.remove(target),
        };
        self.change(changed, async |store| store.set(target, is_enabled).await).await
    }

    /// Writes a change to the store, and applies what the store has then. Without a store, applies the change alone.
    async fn change(
        &self,
        changed: Overrides,
        write: impl AsyncFnOnce(&OverrideStore) -> Result<(), StoreError>,
    ) -> Result<(), OverrideError> {
        let Some(location) = &self.location else {
            self.apply(changed).await;
            return Ok(());
        };
        let store = OverrideStore::open_to_change(location).await?;
        let written = async {
            write(&store).await?;
            store.read().await
        };
        let written = written.await;
        store.close().await;
        self.apply(written?).await;
        Ok(())
    }

    /// Applies overrides, and tells of it if they differ from the earlier ones.
    async fn apply(&self, overrides: Overrides) {
        let _applying = self.applying.lock().await;
        let before = self.policy.overrides();
        if *before == overrides {
            return;
        }
        self.policy.set_overrides(overrides.clone());
        self.changes.send_modify(|changes| *changes += 1);
        self.suspend(&before, &overrides).await;
    }

    /// Suspends the sources that have been disabled, and lets those be used again that have been enabled. They load
    /// their tools in the background.
    async fn suspend(&self, before: &Overrides, now: &Overrides) {
        for loader in &self.loaders {
            let is_suspended = is_disabled(loader.as_ref(), now);
            if is_suspended == is_disabled(loader.as_ref(), before) {
                continue;
            }
            loader.set_suspended(is_suspended).await;
            if is_suspended {
                continue;
            }
            let (registry, source) = (Arc::clone(&self.registry), loader.source().to_owned());
            tokio::spawn(async move {
                if let Err(error) = registry.refresh_source(&source).await {
                    tracing::warn!(%error, source, "a source that was enabled cannot be loaded");
                }
            });
        }
    }

    /// Stops following changes, and closes the store.
    pub async fn close(&self) {
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

/// Returns true if all tools of a source are disabled with it.
fn is_disabled(loader: &dyn ToolLoader, overrides: &Overrides) -> bool {
    overrides.disables_source(loader.source(), loader.exclusive_namespace())
}

/// Applies the changes of other processes until the app is closed. While they cannot be read, the earlier ones apply.
async fn follow(store: OverrideStore, active: Weak<ActiveOverrides>, closing: CancellationToken) {
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
                    let Some(active) = active.upgrade() else { return };
                    active.apply(read).await;
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
