//! The overrides of a running app, which follow the changes of other processes.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use toolcrib_policy::{OverrideTarget, Overrides};
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
            follower: TaskTracker::new(),
        });
        let Some(store) = active.stored().await? else { return Ok(active) };
        let read = store.read().await.map_err(|error| unreadable(&error))?;
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
            self.apply(services, changed);
            return Ok(());
        };
        let store = OverrideStore::open_to_change(location).await.map_err(|error| start_error(&error))?;
        let written = async {
            write(&store).await?;
            store.read().await
        };
        let written = written.await;
        store.close().await;
        self.apply(services, written.map_err(|error| unreadable(&error))?);
        Ok(())
    }

    /// Applies overrides, and tells of it if they differ from the earlier ones.
    fn apply(&self, services: &AppServices, overrides: Overrides) {
        let policy = services.executor.policy();
        if *policy.overrides() == overrides {
            return;
        }
        policy.set_overrides(overrides);
        services.setups.forget();
        self.changes.send_modify(|changes| *changes += 1);
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
                    active.apply(&services, read);
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
