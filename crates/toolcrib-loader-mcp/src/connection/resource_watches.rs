//! The subscriptions to resources of a server, for as long as their changes are waited for.

use std::collections::HashMap;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

/// The largest number of resources of one server that are watched at the same time.
pub(crate) const MAX_WATCHED: usize = 1_000;

/// The watched resources, by the server's URIs.
#[derive(Default)]
pub(crate) struct ResourceWatches {
    watched: Mutex<HashMap<String, WatchedResource>>,
    /// Held while the server is told, so that it learns of the end of one watch before it learns of the next.
    telling: tokio::sync::Mutex<()>,
}

struct WatchedResource {
    /// The number of changes.
    changes: watch::Sender<u64>,
    /// The task that ends the subscription.
    _keeper: AbortOnDropHandle<()>,
}

impl ResourceWatches {
    /// Acquires the lock for telling the server.
    pub(crate) async fn telling(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.telling.lock().await
    }

    /// Returns a receiver of the changes of a resource that is watched already.
    pub(crate) fn subscribe(&self, uri: &str) -> Option<watch::Receiver<u64>> {
        self.watched.lock().get(uri).map(|watched| watched.changes.subscribe())
    }

    /// Returns true if no further resource can be watched.
    pub(crate) fn is_full(&self) -> bool {
        self.watched.lock().len() >= MAX_WATCHED
    }

    /// Adds a resource, with the task that ends the subscription.
    pub(crate) fn insert(&self, uri: &str, changes: watch::Sender<u64>, keeper: AbortOnDropHandle<()>) {
        self.watched.lock().insert(uri.to_owned(), WatchedResource { changes, _keeper: keeper });
    }

    /// Returns the URIs of the watched resources.
    pub(crate) fn uris(&self) -> Vec<String> {
        self.watched.lock().keys().cloned().collect()
    }

    /// Counts a change of a resource.
    pub(crate) fn note_change(&self, uri: &str) {
        if let Some(watched) = self.watched.lock().get(uri) {
            watched.changes.send_modify(|changes| *changes += 1);
        }
    }

    /// Returns true if no receiver is left.
    pub(crate) fn is_unwatched(&self, uri: &str) -> bool {
        self.watched.lock().get(uri).is_none_or(|watched| watched.changes.receiver_count() == 0)
    }

    /// Removes a resource. This ends the task that calls it, at its next wait.
    pub(crate) fn remove(&self, uri: &str) {
        let removed = self.watched.lock().remove(uri);
        drop(removed);
    }

    /// Removes all resources; their receivers learn that nothing follows.
    pub(crate) fn clear(&self) {
        let removed = std::mem::take(&mut *self.watched.lock());
        drop(removed);
    }
}
