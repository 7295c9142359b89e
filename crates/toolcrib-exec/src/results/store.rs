//! Where results are kept, each for the one who got it.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use toolcrib_port::CallContext;

use super::folder::Folder;
use super::limits::{
    KEPT_FOR, MAX_KEPT_BYTES, MAX_KEPT_RESULTS, MAX_KEPT_SESSION_BYTES, MAX_KEPT_SESSION_RESULTS,
};

/// Letters of a handle: 32, so that each stands for five bits.
const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// Whose a result is. All three have to be the same for it to be there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) session: Arc<str>,
    pub(super) agent: Option<Arc<str>>,
    pub(super) user: Option<Arc<str>>,
}

impl Owner {
    pub(super) fn of(context: &CallContext) -> Self {
        Self {
            session: Arc::clone(&context.session),
            agent: context.agent.clone(),
            user: context.user.clone(),
        }
    }
}

/// What a kept text is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Format {
    /// Text, for reading.
    Text,
    /// JSON, in lines.
    Json,
    /// Base64 of something else.
    Binary {
        /// Its media type.
        media_type: String,
        /// How many bytes it stands for.
        bytes: usize,
    },
}

/// A result that is kept.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) owner: Owner,
    /// The tool that it came from.
    pub(super) tool: String,
    pub(super) text: String,
    pub(super) format: Format,
    /// How many bytes there were, when they were too many to be kept.
    pub(super) cut_from: Option<usize>,
    /// The bytes at which its first pages begin, as far as they were asked for, and how many tokens such a page has.
    pub(super) pages: Mutex<(usize, Vec<usize>)>,
}

impl Kept {
    pub(super) fn new(
        owner: Owner,
        tool: String,
        text: String,
        format: Format,
        cut_from: Option<usize>,
    ) -> Self {
        Self { owner, tool, text, format, cut_from, pages: Mutex::default() }
    }
}

struct Entry {
    handle: String,
    since: Instant,
    kept: Arc<Kept>,
}

/// How much is kept.
#[derive(Clone, Copy)]
pub(super) struct StoreBounds {
    pub(super) bytes: usize,
    pub(super) count: usize,
    pub(super) session_bytes: usize,
    pub(super) session_count: usize,
    pub(super) time: Duration,
}

impl Default for StoreBounds {
    fn default() -> Self {
        Self {
            bytes: MAX_KEPT_BYTES,
            count: MAX_KEPT_RESULTS,
            session_bytes: MAX_KEPT_SESSION_BYTES,
            session_count: MAX_KEPT_SESSION_RESULTS,
            time: KEPT_FOR,
        }
    }
}

/// The kept results, the oldest first.
#[derive(Default)]
pub(super) struct Store {
    pub(super) bounds: StoreBounds,
    entries: Mutex<VecDeque<Entry>>,
    /// Where results of sessions are that outlive the process.
    folders: Mutex<HashMap<Arc<str>, Folder>>,
}

impl Store {
    /// Keeps a result under a handle, which comes back with it; the oldest ones go where there is no room. Without a handle,
    /// the result is too large to be kept, or there are no random numbers.
    pub(super) fn insert(&self, kept: Kept) -> (Arc<Kept>, Option<String>) {
        let StoreBounds { bytes, count, session_bytes, session_count, time } = self.bounds;
        let kept = Arc::new(kept);
        let (size, owner) = (kept.text.len(), &kept.owner);
        if size > bytes.min(session_bytes) || count == 0 || session_count == 0 {
            return (kept, None);
        }
        let Some(handle) = new_handle() else { return (kept, None) };
        if let Some(folder) = self.folders().get_mut(&owner.session)
            && let Err(error) = folder.insert(&handle, &kept)
        {
            // It can be read as long as this process lives.
            tracing::warn!(%error, "a result cannot be kept with its session");
        }
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        drop_expired(&mut entries, time);
        let of_session = |entry: &Entry| entry.kept.owner.session == owner.session;
        loop {
            let sizes = entries.iter().filter(|entry| of_session(entry)).map(Entry::size);
            let (many, sum) = sizes.fold((0, 0), |(many, sum), size| (many + 1, sum + size));
            if many < session_count && sum + size <= session_bytes {
                break;
            }
            match entries.iter().position(of_session) {
                Some(oldest) => entries.remove(oldest),
                None => break,
            };
        }
        let mut sum: usize = entries.iter().map(Entry::size).sum();
        while entries.len() >= count || sum + size > bytes {
            match entries.pop_front() {
                Some(oldest) => sum -= oldest.size(),
                None => break,
            }
        }
        entries.push_back(Entry { handle: handle.clone(), since: Instant::now(), kept: Arc::clone(&kept) });
        (kept, Some(handle))
    }

    /// The result of this handle. Somebody else's is not there.
    pub(super) fn get(&self, handle: &str, owner: &Owner) -> Option<Arc<Kept>> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        drop_expired(&mut entries, self.bounds.time);
        if let Some(entry) = entries.iter().find(|entry| entry.handle == handle && entry.kept.owner == *owner)
        {
            return Some(Arc::clone(&entry.kept));
        }
        drop(entries);
        self.folders().get(&owner.session)?.get(handle, owner).map(Arc::new)
    }

    /// The handles of one owner and the tools that they came from, the newest first.
    pub(super) fn handles(&self, owner: &Owner) -> Vec<(String, String)> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        drop_expired(&mut entries, self.bounds.time);
        let own = entries.iter().rev().filter(|entry| entry.kept.owner == *owner);
        let mut handles: Vec<_> = own.map(|entry| (entry.handle.clone(), entry.kept.tool.clone())).collect();
        drop(entries);
        let folders = self.folders();
        for (handle, tool) in folders.get(&owner.session).into_iter().flat_map(|folder| folder.handles(owner))
        {
            if handles.iter().all(|(known, _)| known != handle) {
                handles.push((handle.to_owned(), tool.to_owned()));
            }
        }
        handles
    }

    /// Keeps the results of a session in a folder too, from now on, and finds those that are there.
    pub(super) fn keep_in(&self, session: &str, folder: &Path) -> io::Result<()> {
        let folder = Folder::open(folder, session)?;
        self.folders().insert(session.into(), folder);
        Ok(())
    }

    fn folders(&self) -> MutexGuard<'_, HashMap<Arc<str>, Folder>> {
        self.folders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drops what is kept for a session. Files of it stay where they are.
    pub(super) fn forget(&self, session: &str) {
        self.folders().remove(session);
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|entry| entry.kept.owner.session.as_ref() != session);
    }
}

impl Entry {
    fn size(&self) -> usize {
        self.kept.text.len()
    }
}

/// All are kept equally long, so that the first to come is the first to go.
fn drop_expired(entries: &mut VecDeque<Entry>, time: Duration) {
    let now = Instant::now();
    while entries.front().is_some_and(|oldest| now.duration_since(oldest.since) >= time) {
        entries.pop_front();
    }
}

/// Whether a text has the form of a handle.
pub(super) fn is_handle(text: &str) -> bool {
    text.strip_prefix("r_")
        .is_some_and(|rest| rest.len() == 26 && rest.bytes().all(|byte| ALPHABET.contains(&byte)))
}

/// A handle that nobody can guess: 128 bits from the operating system. `None` when it has none to give.
fn new_handle() -> Option<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).ok()?;
    let number = u128::from_be_bytes(bytes);
    let letter = |place: u32| {
        let bits = usize::try_from((number >> (5 * place)) & 31).unwrap_or_default();
        ALPHABET.get(bits).map(|letter| char::from(*letter))
    };
    Some(format!("r_{}", (0..26).filter_map(letter).collect::<String>()))
}
