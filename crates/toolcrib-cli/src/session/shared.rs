//! Sessions in the store that several machines share.
//!
//! Each write is a record, as is each large result, and a head describes the session for lists. One run at a time has the lease of a session, and
//! writes under its fence. The file of the session is a copy, which is replaced when a run opens it.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::task::JoinHandle;
use toolcrib_agent::journal::Entry;
use toolcrib_model::random::{hex, random_bytes};
use toolcrib_tasks::store::{Change, LazyStore, Record, RecordKind, StoreError};

use super::format::Head;
use super::list_entry::{MAX_LISTED, MAX_PROMPT_BYTES, StoredSession};
use super::results;
use crate::exit::{Exit, Failure};
use crate::trace::now_ms;
use crate::ui::printable::excerpt;

/// The time after which the session of a run that was killed can be continued.
const LEASE_TIME: Duration = Duration::from_mins(1);

/// The interval in which a run extends its lease.
const RENEWAL_INTERVAL: Duration = Duration::from_secs(15);

/// The description of a session for lists.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct SessionHead {
    agent: Option<String>,
    prompt: Option<String>,
    bytes: u64,
    /// Seconds since 1970.
    changed: u64,
    /// The number of the next record.
    next: u64,
    /// The handles of its results, the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) results: Vec<String>,
}

/// A session in a store, whose lease this process has.
pub(super) struct SharedSession {
    pub(super) store: Arc<LazyStore>,
    pub(super) id: String,
    pub(super) owner: String,
    pub(super) head: tokio::sync::Mutex<SessionHead>,
    renewal: JoinHandle<()>,
}

impl SharedSession {
    /// Acquires the lease of a session, and returns its text.
    pub(super) async fn open(store: &Arc<LazyStore>, id: &str) -> Result<(Self, String), Failure> {
        let owner = hex(&random_bytes::<16>().map_err(|error| Failure::bad_input(error.to_string()))?);
        let opened = store.get().await.map_err(|error| unreadable(&error))?;
        if !opened.lease(&lease(id), &owner, LEASE_TIME).await.map_err(|error| unreadable(&error))? {
            return Err(Failure::bad_input(format!(
                "another run works with the session `{id}`; wait for its end, or take another id"
            )));
        }
        let head = opened.get(RecordKind::Session, id).await.map_err(|error| unreadable(&error))?;
        let head = head.and_then(|record| serde_json::from_value(record.body).ok()).unwrap_or_default();
        let text = text(store, id).await?.unwrap_or_default();
        let renewal = tokio::spawn(renew(Arc::clone(store), id.to_owned(), owner.clone()));
        let head = tokio::sync::Mutex::new(head);
        Ok((Self { store: Arc::clone(store), id: id.to_owned(), owner, head, renewal }, text))
    }

    /// Appends lines.
    pub(super) async fn append(&self, lines: &[u8]) -> io::Result<()> {
        self.write(lines, Vec::new()).await
    }

    /// Replaces all lines.
    pub(super) async fn replace(&self, lines: &[u8]) -> io::Result<()> {
        let store = self.store.get().await.map_err(io::Error::other)?;
        let before =
            store.list(RecordKind::SessionEntry, &prefix(&self.id)).await.map_err(io::Error::other)?;
        let removed = before.into_iter().map(|record| Change::remove(RecordKind::SessionEntry, record.id));
        let removed = removed.collect();
        {
            let mut head = self.head.lock().await;
            let results = std::mem::take(&mut head.results);
            *head = SessionHead { next: head.next, results, ..SessionHead::default() };
        }
        self.write(lines, removed).await
    }

    async fn write(&self, lines: &[u8], mut changes: Vec<Change>) -> io::Result<()> {
        let lines = std::str::from_utf8(lines).map_err(io::Error::other)?;
        let mut head = self.head.lock().await;
        let mut next = head.clone();
        next.describe(lines);
        next.bytes += lines.len() as u64;
        (next.changed, next.next) = (now_ms() / 1_000, head.next + 1);
        let record =
            |kind, id: String, body| Change::Put(Record { kind, id, session: self.id.clone(), body });
        changes.insert(0, Change::Fence { id: lease(&self.id), owner: self.owner.clone() });
        let id = format!("{}{:012}", prefix(&self.id), head.next);
        changes.push(record(RecordKind::SessionEntry, id, json!({"lines": lines})));
        changes.push(record(RecordKind::Session, self.id.clone(), json!(next)));
        let store = self.store.get().await.map_err(io::Error::other)?;
        store.apply(changes).await.map_err(io::Error::other)?;
        *head = next;
        Ok(())
    }

    /// Lets another run continue the session.
    pub(super) async fn close(&self) {
        self.renewal.abort();
        if let Ok(store) = self.store.get().await {
            // Otherwise the lease ends by itself.
            let _ = store.release(&lease(&self.id), &self.owner).await;
        }
    }
}

impl Drop for SharedSession {
    fn drop(&mut self) {
        self.renewal.abort();
    }
}

impl SessionHead {
    /// Takes the agent and the first prompt from lines.
    fn describe(&mut self, lines: &str) {
        for line in lines.lines() {
            if self.agent.is_none() {
                self.agent = serde_json::from_str::<Head>(line).ok().map(|head| head.agent);
            } else if self.prompt.is_some() {
                return;
            } else if let Ok(Entry::Began { prompt }) = serde_json::from_str(line) {
                self.prompt = Some(excerpt(prompt.trim(), MAX_PROMPT_BYTES));
            }
        }
    }
}

/// Extends the lease until the task is aborted.
async fn renew(store: Arc<LazyStore>, id: String, owner: String) {
    loop {
        tokio::time::sleep(RENEWAL_INTERVAL).await;
        // A write under a lost lease is refused.
        if let Ok(store) = store.get().await
            && let Err(error) = store.lease(&lease(&id), &owner, LEASE_TIME).await
        {
            tracing::debug!(%error, "the lease of a session is not extended");
        }
    }
}

/// Lists the sessions in a store, the newest first, and says how many there are in all.
pub(super) async fn list(store: &LazyStore) -> Result<(Vec<StoredSession>, usize), Failure> {
    let opened = store.get().await.map_err(|error| unreadable(&error))?;
    let records = opened.load(RecordKind::Session).await.map_err(|error| unreadable(&error))?;
    let count = records.len();
    let mut sessions: Vec<_> = records
        .into_iter()
        .map(|record| {
            let head: SessionHead = serde_json::from_value(record.body).unwrap_or_default();
            let SessionHead { agent, prompt, bytes, changed, .. } = head;
            StoredSession { id: record.id, agent, prompt, bytes, changed }
        })
        .collect();
    sessions.sort_by(|a, b| b.changed.cmp(&a.changed).then_with(|| a.id.cmp(&b.id)));
    sessions.truncate(MAX_LISTED);
    Ok((sessions, count))
}

/// Returns the text of a session. `None` if it does not exist.
pub(super) async fn text(store: &LazyStore, id: &str) -> Result<Option<String>, Failure> {
    let opened = store.get().await.map_err(|error| unreadable(&error))?;
    let records =
        opened.list(RecordKind::SessionEntry, &prefix(id)).await.map_err(|error| unreadable(&error))?;
    let texts: Vec<_> = records.iter().filter_map(|record| record.body.get("lines")?.as_str()).collect();
    Ok((!texts.is_empty()).then(|| texts.concat()))
}

/// Removes a session, unless a run is at work with it. Returns false if it does not exist.
pub(super) async fn remove(store: &Arc<LazyStore>, id: &str) -> Result<bool, Failure> {
    let (session, text) = SharedSession::open(store, id).await.map_err(|failure| {
        if failure.exit == Exit::Unavailable {
            return failure;
        }
        Failure::bad_input(format!(
            "a run works with the session `{id}`; nothing was removed, try again after its end"
        ))
    })?;
    let opened = store.get().await.map_err(|error| unreadable(&error))?;
    let entries =
        opened.list(RecordKind::SessionEntry, &prefix(id)).await.map_err(|error| unreadable(&error))?;
    let entries = entries.into_iter().map(|record| Change::remove(RecordKind::SessionEntry, record.id));
    let head = Change::remove(RecordKind::Session, id);
    let results = session.head.lock().await.results.clone();
    let results = results.iter().map(|handle| results::remove(id, handle));
    let removed = opened.apply(entries.chain(results).chain([head]).collect()).await;
    session.close().await;
    removed.map_err(|error| unreadable(&error))?;
    Ok(!text.is_empty())
}

pub(super) fn lease(id: &str) -> String {
    format!("session {id}")
}

/// Returns the beginning of the ids of the records of a session. Its own id has no slash.
pub(super) fn prefix(id: &str) -> String {
    format!("{id}/")
}

fn unreadable(error: &StoreError) -> Failure {
    let exit = match error {
        StoreError::Unreachable { .. } => Exit::Unavailable,
        _ => Exit::BadInput,
    };
    Failure::new(exit, format!("the sessions cannot be used: {error}"))
}
