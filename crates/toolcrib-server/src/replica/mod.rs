//! This process among those that serve the same app on one store.
//!
//! A process that has a durable store for itself has no others, and what it stores is there after its restart.
//!
//! Processes that share a store, a *replica* each, have their questions, the keys of `requestState`, and the sessions of
//! clients without a connection in common. Each tells the others that it is alive by a record that ends unless it is
//! renewed, and receives [messages](mail::ReplicaMessage) as records that are addressed to it. It polls for them while it
//! expects any.

pub(crate) mod keys;
pub(crate) mod mail;
pub(crate) mod questions;
pub(crate) mod resumable;
pub(crate) mod worker;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hmac::{Hmac, Mac as _};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::Sha256;
use tokio::sync::{Notify, oneshot};
use toolcrib_exec::flow::ProcessCount;
use toolcrib_model::random::{hex, random_bytes};
use toolcrib_runtime::Runtime;
use toolcrib_tasks::Store;
use toolcrib_tasks::store::{Change, Record, RecordKind, StoreError};
use url::Url;

use self::keys::KeyRing;
use self::mail::Outcome;
use crate::Error;

/// The time after which a process counts as ended that does not renew its record.
const PROCESS_LIFETIME: Duration = Duration::from_secs(15);

/// The number of random bytes in the id of a process.
const ID_BYTES: usize = 8;

/// This process among those that serve the same app on one store.
pub struct Replica {
    id: String,
    /// True if no other process has the store open, so that nothing is told and read that only others need.
    is_alone: bool,
    /// The store of the current version of the app.
    store: Mutex<Arc<dyn Store>>,
    /// The secret that all processes have in common.
    secret: Vec<u8>,
    keys: KeyRing,
    last_call: AtomicU64,
    /// The callers that wait for another process to continue their call, by the ids of their requests.
    outcomes: Mutex<HashMap<String, oneshot::Sender<Outcome>>>,
    /// Wakes the worker, since there is something to expect.
    woken: Notify,
    /// The reason why the store could not be reached by the last heartbeat.
    problem: Mutex<Option<String>>,
    /// True if the other processes know that an operator is present here.
    is_attended: AtomicBool,
    /// The number of processes, which share the rate limits.
    processes: ProcessCount,
    /// The URL at which the other processes reach this one.
    url: Mutex<Option<Url>>,
    /// The digest of the key with which an operator signs in at the console of this process.
    operator: OnceLock<String>,
}

/// The record of a process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct ProcessRecord {
    /// True if an operator is present there.
    attended: bool,
    /// The URL at which the other processes reach it, see `serve.handoff_url`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    /// The digest of the key of its operator. An operator who has it signs in at any process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    operator: Option<String>,
}

impl std::fmt::Debug for Replica {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Replica").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Replica {
    /// Joins the processes that serve the app on its store, at present or after the restart of this one. Returns `None` if
    /// the store ends with the process.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be reached.
    pub async fn join(runtime: &Runtime) -> Result<Option<Arc<Self>>, Error> {
        let tasks = runtime.tasks();
        if let Some(store) = tasks.shared_store() {
            return Self::on(store).await.map(Some);
        }
        let Some(store) = tasks.durable_store() else { return Ok(None) };
        Self::alone_on(store).await.map(Some)
    }

    /// Joins the processes on a store.
    pub(crate) async fn on(store: Arc<dyn Store>) -> Result<Arc<Self>, Error> {
        Self::start(store, false).await
    }

    /// Uses a store that no other process has open.
    pub(crate) async fn alone_on(store: Arc<dyn Store>) -> Result<Arc<Self>, Error> {
        Self::start(store, true).await
    }

    async fn start(store: Arc<dyn Store>, is_alone: bool) -> Result<Arc<Self>, Error> {
        let id = hex(&random_bytes::<ID_BYTES>()?);
        let secret = keys::secret(store.as_ref(), &id).await?;
        let replica = Self {
            id,
            is_alone,
            store: Mutex::new(store),
            secret,
            keys: KeyRing::default(),
            last_call: AtomicU64::new(0),
            outcomes: Mutex::default(),
            woken: Notify::new(),
            problem: Mutex::default(),
            is_attended: AtomicBool::new(false),
            processes: ProcessCount::default(),
            url: Mutex::default(),
            operator: OnceLock::new(),
        };
        replica.tell_alive(false).await?;
        Ok(Arc::new(replica))
    }

    /// Returns the id of this process.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    pub(crate) fn store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.store.lock())
    }

    /// Uses the store of another version of the app, if it has one that is shared.
    pub(crate) fn follow(&self, runtime: &Runtime) {
        let tasks = runtime.tasks();
        let store = if self.is_alone { tasks.durable_store() } else { tasks.shared_store() };
        if let Some(store) = store {
            *self.store.lock() = store;
        }
        runtime.executor().processes().set(self.processes.get());
    }

    /// Returns the number of processes, which share the rate limits.
    pub(crate) fn processes(&self) -> &ProcessCount {
        &self.processes
    }

    /// Counts the processes, for their shares of the rate limits.
    pub(crate) async fn count_processes(&self) -> Result<u32, StoreError> {
        if self.is_alone {
            return Ok(self.processes.get());
        }
        let processes = self.store().load(RecordKind::Process).await?.len();
        self.processes.set(u32::try_from(processes).unwrap_or(u32::MAX));
        Ok(self.processes.get())
    }

    /// Returns bytes for a purpose that are the same in all processes, and that others cannot guess.
    pub(crate) fn derive(&self, purpose: &str, name: &str) -> [u8; 32] {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.secret)
            .unwrap_or_else(|_| unreachable!("HMAC takes keys of any length"));
        // The length prefixes make the encoding of each pair unique.
        for part in [purpose, name] {
            mac.update(&part.len().to_be_bytes());
            mac.update(part.as_bytes());
        }
        mac.finalize().into_bytes().into()
    }

    /// Returns a new id of a call that begins in this process.
    pub(crate) fn new_call(&self) -> (u64, String) {
        let number = self.last_call.fetch_add(1, Ordering::Relaxed) + 1;
        (number, format!("{}.{number}", self.id))
    }

    /// Takes a record. Returns false if another process was first, or the record has ended.
    pub(crate) async fn take(&self, kind: RecordKind, id: &str) -> Result<bool, StoreError> {
        self.apply(vec![Change::take(kind, id)]).await
    }

    /// Applies changes that begin with taking a record. Returns false if another process was first.
    pub(crate) async fn apply(&self, changes: Vec<Change>) -> Result<bool, StoreError> {
        match self.store().apply(changes).await {
            Ok(()) => Ok(true),
            Err(StoreError::Taken { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Removes a record in the background. It ends later if it cannot be removed.
    pub(crate) fn remove_later(self: &Arc<Self>, kind: RecordKind, id: String) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let store = self.store();
        runtime.spawn(async move {
            if let Err(error) = store.apply(vec![Change::remove(kind, id)]).await {
                tracing::warn!(%error, "a record that is not needed any more cannot be removed");
            }
        });
    }

    /// Tells the other processes that this one is alive.
    pub(crate) async fn tell_alive(&self, attended: bool) -> Result<(), StoreError> {
        if self.is_alone {
            return Ok(());
        }
        let url = self.url.lock().as_ref().map(Url::to_string);
        let body = json!(ProcessRecord { attended, url, operator: self.operator.get().cloned() });
        let record = Record { kind: RecordKind::Process, id: self.id.clone(), session: String::new(), body };
        let told = self.store().apply(vec![Change::PutFor { record, lifetime: PROCESS_LIFETIME }]).await;
        *self.problem.lock() = told.as_ref().err().map(ToString::to_string);
        self.is_attended.store(attended && told.is_ok(), Ordering::Relaxed);
        told
    }

    /// Tells the other processes that an operator is present here, unless they know.
    pub(crate) async fn tell_attended(&self) -> Result<(), StoreError> {
        if self.is_attended.load(Ordering::Relaxed) { Ok(()) } else { self.tell_alive(true).await }
    }

    /// Tells the other processes that this one ends.
    pub(crate) async fn leave(&self) {
        if self.is_alone {
            return;
        }
        // Otherwise its record ends soon.
        let _ = self.store().apply(vec![Change::remove(RecordKind::Process, self.id.as_str())]).await;
    }

    /// Returns the reason why the store could not be reached by the last heartbeat.
    pub(crate) fn problem(&self) -> Option<String> {
        self.problem.lock().clone()
    }

    /// Returns true if a process is alive.
    pub(crate) async fn is_alive(&self, process: &str) -> Result<bool, StoreError> {
        let is_own = process == self.id;
        Ok(is_own || !self.is_alone && self.store().get(RecordKind::Process, process).await?.is_some())
    }

    /// Tells the other processes the URL at which they reach this one.
    pub(crate) async fn set_url(&self, url: Option<Url>) -> Result<(), StoreError> {
        *self.url.lock() = url;
        self.tell_alive(self.is_attended.load(Ordering::Relaxed)).await
    }

    /// Lets an operator with this digest of a key sign in at all processes.
    pub(crate) fn admit_operator(&self, digest: String) {
        // A process has one console.
        let _ = self.operator.set(digest);
    }

    /// Returns true if this is the digest of the key of a process that is alive.
    pub(crate) async fn is_operator(&self, digest: &str) -> Result<bool, StoreError> {
        let processes = self.store().load(RecordKind::Process).await?;
        let is_its = |record: Record| {
            serde_json::from_value(record.body)
                .is_ok_and(|process: ProcessRecord| process.operator.as_deref() == Some(digest))
        };
        Ok(processes.into_iter().any(is_its))
    }

    /// Returns the URL of a process; `None` if it has ended or has none.
    pub(crate) async fn url_of(&self, process: &str) -> Result<Option<Url>, StoreError> {
        let record = self.store().get(RecordKind::Process, process).await?;
        let record = record.and_then(|record| serde_json::from_value::<ProcessRecord>(record.body).ok());
        Ok(record.and_then(|record| Url::parse(&record.url?).ok()))
    }

    /// Returns true if an operator is present at another process.
    pub(crate) async fn is_attended_elsewhere(&self) -> Result<bool, StoreError> {
        if self.is_alone {
            return Ok(false);
        }
        let processes = self.store().load(RecordKind::Process).await?;
        let is_attended = |record: Record| {
            record.id != self.id
                && serde_json::from_value(record.body).is_ok_and(|process: ProcessRecord| process.attended)
        };
        Ok(processes.into_iter().any(is_attended))
    }

    /// Returns true if no other process has the store open.
    pub(crate) fn is_alone(&self) -> bool {
        self.is_alone
    }

    /// Wakes the worker.
    pub(crate) fn wake(&self) {
        self.woken.notify_one();
    }
}
