//! The store of results, each readable by its owner only.

pub(super) mod archive;
pub(super) mod binary_data;
mod result_store;
mod session_folder;

use std::collections::{HashMap, VecDeque};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use toolcrib_model::random::random_bytes;
use toolcrib_model::result::handle_of;
use toolcrib_port::CallContext;

use crate::limits::{
    MAX_STORED_BYTES, MAX_STORED_RESULTS, MAX_STORED_SESSION_BYTES, MAX_STORED_SESSION_RESULTS,
    RESULT_LIFETIME,
};
use crate::store::archive::Archived;
use crate::store::session_folder::SessionFolder;

/// The owner of a result. A reader has to match all three fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) session: Arc<str>,
    pub(crate) agent: Option<Arc<str>>,
    pub(crate) user: Option<Arc<str>>,
}

impl Owner {
    pub(crate) fn of(context: &CallContext) -> Self {
        Self {
            session: Arc::clone(&context.session),
            agent: context.agent.clone(),
            user: context.user.clone(),
        }
    }
}

/// The format of a stored text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Format {
    /// Plain text.
    Text,
    /// JSON, formatted in lines.
    Json,
    /// Binary data in base64.
    Binary {
        /// The media type.
        media_type: String,
        /// The number of decoded bytes.
        bytes: usize,
    },
}

/// A stored result.
#[derive(Debug)]
pub(crate) struct StoredResult {
    pub(crate) owner: Owner,
    /// The tool that produced it.
    pub(crate) tool: String,
    pub(crate) text: String,
    pub(crate) format: Format,
    /// The original size in bytes, if the text was truncated to be stored.
    pub(crate) cut_from: Option<usize>,
    /// The tokens per page, and the start positions of the first pages, up to the last requested one.
    pub(crate) pages: Mutex<(usize, Vec<usize>)>,
}

impl StoredResult {
    pub(crate) fn new(
        owner: Owner,
        tool: String,
        text: String,
        format: Format,
        cut_from: Option<usize>,
    ) -> Self {
        Self { owner, tool, text, format, cut_from, pages: Mutex::default() }
    }
}

struct StoreEntry {
    handle: String,
    since: Instant,
    /// True if this process has made the result.
    is_own: bool,
    stored: Arc<StoredResult>,
}

/// The limits of the store.
#[derive(Clone, Copy)]
pub(crate) struct StoreLimits {
    pub(crate) bytes: usize,
    pub(crate) count: usize,
    pub(crate) session_bytes: usize,
    pub(crate) session_count: usize,
    pub(crate) time: Duration,
}

impl Default for StoreLimits {
    fn default() -> Self {
        Self {
            bytes: MAX_STORED_BYTES,
            count: MAX_STORED_RESULTS,
            session_bytes: MAX_STORED_SESSION_BYTES,
            session_count: MAX_STORED_SESSION_RESULTS,
            time: RESULT_LIFETIME,
        }
    }
}

/// The stored results, the oldest first.
#[derive(Default)]
pub(crate) struct ResultStore {
    pub(crate) bounds: StoreLimits,
    entries: Mutex<VecDeque<StoreEntry>>,
    /// The folders of sessions whose results outlive the process.
    folders: Mutex<HashMap<Arc<str>, SessionFolder>>,
    /// The archive that other processes read too.
    archived: Archived,
}

impl ResultStore {
    /// Stores a result, and returns it with its handle; removes the oldest results to make room. The handle is `None`
    /// if the result is too large to be stored, or if there are no random numbers.
    pub(crate) fn insert(&self, stored: StoredResult) -> (Arc<StoredResult>, Option<String>) {
        let StoreLimits { bytes, count, session_bytes, session_count, .. } = self.bounds;
        let stored = Arc::new(stored);
        let (size, owner) = (stored.text.len(), &stored.owner);
        if size > bytes.min(session_bytes) || count == 0 || session_count == 0 {
            return (stored, None);
        }
        let Some(handle) = new_handle() else { return (stored, None) };
        if let Some(folder) = self.folders.lock().get_mut(&owner.session)
            && let Err(error) = folder.insert(&handle, &stored)
        {
            // The result can be read while this process runs.
            tracing::warn!(%error, "a result cannot be stored in the folder of its session");
        }
        self.archived.inserted(&handle, &stored);
        let (since, is_own) = (Instant::now(), true);
        self.keep(StoreEntry { handle: handle.clone(), since, is_own, stored: Arc::clone(&stored) });
        (stored, Some(handle))
    }

    /// Adds a result, and removes the oldest results to make room.
    fn keep(&self, entry: StoreEntry) {
        let StoreLimits { bytes, count, session_bytes, session_count, time } = self.bounds;
        let (size, owner) = (entry.size(), &entry.stored.owner);
        let mut entries = self.entries.lock();
        drop_expired(&mut entries, time);
        let of_session = |entry: &StoreEntry| entry.stored.owner.session == owner.session;
        loop {
            let sizes = entries.iter().filter(|entry| of_session(entry)).map(StoreEntry::size);
            let (many, sum) = sizes.fold((0, 0), |(many, sum), size| (many + 1, sum + size));
            if many < session_count && sum + size <= session_bytes {
                break;
            }
            match entries.iter().position(of_session).and_then(|oldest| entries.remove(oldest)) {
                Some(oldest) => self.archived.evicted(&oldest),
                None => break,
            }
        }
        let mut sum: usize = entries.iter().map(StoreEntry::size).sum();
        while entries.len() >= count || sum + size > bytes {
            match entries.pop_front() {
                Some(oldest) => {
                    sum -= oldest.size();
                    self.archived.evicted(&oldest);
                }
                None => break,
            }
        }
        entries.push_back(entry);
    }

    /// Returns the result of this handle, if it belongs to this owner.
    pub(crate) fn get(&self, handle: &str, owner: &Owner) -> Option<Arc<StoredResult>> {
        let mut entries = self.entries.lock();
        drop_expired(&mut entries, self.bounds.time);
        if let Some(entry) =
            entries.iter().find(|entry| entry.handle == handle && entry.stored.owner == *owner)
        {
            return Some(Arc::clone(&entry.stored));
        }
        drop(entries);
        self.folders.lock().get(&owner.session)?.get(handle, owner).map(Arc::new)
    }

    /// Returns the handles of one owner and the tools that produced the results, the newest first.
    pub(crate) fn handles(&self, owner: &Owner) -> Vec<(String, String)> {
        let mut entries = self.entries.lock();
        drop_expired(&mut entries, self.bounds.time);
        let own = entries.iter().rev().filter(|entry| entry.stored.owner == *owner);
        let mut handles: Vec<_> =
            own.map(|entry| (entry.handle.clone(), entry.stored.tool.clone())).collect();
        drop(entries);
        let folders = self.folders.lock();
        for (handle, tool) in folders.get(&owner.session).into_iter().flat_map(|folder| folder.handles(owner))
        {
            if handles.iter().all(|(known, _)| known != handle) {
                handles.push((handle.to_owned(), tool.to_owned()));
            }
        }
        handles
    }

    /// Also stores the results of a session in a folder from now on, and makes the results in it available.
    pub(crate) fn store_in(&self, session: &str, folder: &Path) -> io::Result<()> {
        let folder = SessionFolder::open(folder, session)?;
        self.folders.lock().insert(session.into(), folder);
        Ok(())
    }

    /// Removes the results of a session from memory. Its files stay.
    pub(crate) fn forget(&self, session: &str) {
        self.folders.lock().remove(session);
        let mut entries = self.entries.lock();
        entries.retain(|entry| entry.stored.owner.session.as_ref() != session);
    }
}

impl StoreEntry {
    fn size(&self) -> usize {
        self.stored.text.len()
    }
}

/// Removes expired results. All have the same lifetime, so the oldest expire first.
fn drop_expired(entries: &mut VecDeque<StoreEntry>, time: Duration) {
    let now = Instant::now();
    while entries.front().is_some_and(|oldest| now.duration_since(oldest.since) >= time) {
        entries.pop_front();
    }
}

/// Creates a handle that cannot be guessed: 128 bits from the operating system. `None` if it provides no random
/// numbers.
fn new_handle() -> Option<String> {
    random_bytes().ok().map(|bytes| handle_of(u128::from_be_bytes(bytes)))
}
