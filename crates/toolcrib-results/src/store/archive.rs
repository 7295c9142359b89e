//! Results that other processes read by their handles too.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::Instant;
use toolcrib_model::ToolError;
use toolcrib_model::result::is_handle;

use crate::store::{Format, Owner, ResultStore, StoreEntry, StoredResult};

/// A store in which several processes have the results behind handles in common.
#[async_trait]
pub trait ResultArchive: Send + Sync {
    /// Stores a result of a session for a time.
    async fn put(
        &self,
        handle: &str,
        session: &str,
        result: Value,
        lifetime: Duration,
    ) -> Result<(), ToolError>;

    /// Returns the result of a handle.
    async fn get(&self, handle: &str) -> Result<Option<Value>, ToolError>;

    /// Removes results.
    async fn remove(&self, handles: Vec<String>) -> Result<(), ToolError>;
}

/// The archive, with what it does not have yet.
#[derive(Default)]
pub(crate) struct Archived {
    archive: Mutex<Option<Arc<dyn ResultArchive>>>,
    /// The results that have to be put into it.
    unsaved: Mutex<Vec<(String, Arc<StoredResult>)>>,
    /// The handles that have to be removed from it, since their results had to make room.
    evicted: Mutex<Vec<String>>,
    /// Held while results are put into it, so that those of other callers are waited for too.
    saving: tokio::sync::Mutex<()>,
}

#[derive(Serialize, Deserialize)]
struct ArchivedResult {
    session: Arc<str>,
    agent: Option<Arc<str>>,
    user: Option<Arc<str>>,
    tool: String,
    format: Format,
    cut_from: Option<usize>,
    text: String,
}

impl Archived {
    fn archive(&self) -> Option<Arc<dyn ResultArchive>> {
        self.archive.lock().clone()
    }

    /// Notes a result that has to be put into the archive.
    pub(super) fn inserted(&self, handle: &str, stored: &Arc<StoredResult>) {
        if self.archive.lock().is_some() {
            self.unsaved.lock().push((handle.to_owned(), Arc::clone(stored)));
        }
    }

    /// Notes a result that has made room for another.
    pub(super) fn evicted(&self, entry: &StoreEntry) {
        if entry.is_own && self.archive.lock().is_some() {
            self.evicted.lock().push(entry.handle.clone());
        }
    }
}

impl ResultStore {
    /// Puts the results from now on into an archive too, and reads those of other processes from it.
    pub(crate) fn share(&self, archive: Arc<dyn ResultArchive>) {
        *self.archived.archive.lock() = Some(archive);
    }

    /// Puts the results into the archive that it does not have yet. Returns the first error; the results can be read in
    /// this process nevertheless.
    pub(crate) async fn save(&self) -> Result<(), ToolError> {
        let Some(archive) = self.archived.archive() else { return Ok(()) };
        let _saving = self.archived.saving.lock().await;
        let unsaved = std::mem::take(&mut *self.archived.unsaved.lock());
        let mut outcome = Ok(());
        for (handle, stored) in unsaved {
            let StoredResult { owner, tool, text, format, cut_from, .. } = stored.as_ref();
            let Owner { session, agent, user } = owner.clone();
            let (tool, text) = (tool.clone(), text.clone());
            let (format, cut_from) = (format.clone(), *cut_from);
            let result = json!(ArchivedResult { session, agent, user, tool, format, cut_from, text });
            let put = archive.put(&handle, &owner.session, result, self.bounds.time).await;
            outcome = outcome.and(put);
        }
        let evicted = std::mem::take(&mut *self.archived.evicted.lock());
        if !evicted.is_empty()
            && let Err(error) = archive.remove(evicted).await
        {
            tracing::debug!(%error, "results that made room for others stay in the store until their time has ended");
        }
        outcome
    }

    /// Returns the result of this handle, if it belongs to this owner, also one of another process.
    pub(crate) async fn find(
        &self,
        handle: &str,
        owner: &Owner,
    ) -> Result<Option<Arc<StoredResult>>, ToolError> {
        if let Some(stored) = self.get(handle, owner) {
            return Ok(Some(stored));
        }
        let Some(archive) = self.archived.archive().filter(|_| is_handle(handle)) else { return Ok(None) };
        let Some(found) = archive.get(handle).await? else { return Ok(None) };
        let Ok(ArchivedResult { session, agent, user, tool, format, cut_from, text }) =
            serde_json::from_value(found)
        else {
            return Ok(None);
        };
        if (Owner { session, agent, user }) != *owner {
            return Ok(None);
        }
        let stored = Arc::new(StoredResult::new(owner.clone(), tool, text, format, cut_from));
        // Its pages are counted once.
        self.keep(StoreEntry {
            handle: handle.to_owned(),
            since: Instant::now(),
            is_own: false,
            stored: Arc::clone(&stored),
        });
        Ok(Some(stored))
    }
}
