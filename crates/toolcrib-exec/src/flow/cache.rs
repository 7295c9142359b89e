//! Results that are used again for a while.
//!
//! Bounded in number and in bytes. What has to make room is what would end the soonest anyway, so one order by time serves
//! both, and nothing stays behind its time once anything else is looked up.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use toolcrib_model::ToolResult;

use super::key::Key;
use super::settings::CacheLimits;

#[derive(Debug)]
pub(super) struct Cache {
    limits: CacheLimits,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    results: HashMap<Arc<Key>, Entry>,
    /// By when they end.
    ends: BTreeMap<End, Arc<Key>>,
    bytes: usize,
    /// How many there ever were, to tell those apart that end at the same time.
    count: u64,
}

type End = (Instant, u64);

#[derive(Debug)]
struct Entry {
    result: Arc<ToolResult>,
    since: Instant,
    end: End,
    bytes: usize,
}

impl Cache {
    pub(super) fn new(limits: CacheLimits) -> Self {
        Self { limits, kept: Mutex::default() }
    }

    pub(super) fn limits(&self) -> &CacheLimits {
        &self.limits
    }

    /// A result, and how old it is.
    pub(super) fn get(&self, key: &Key) -> Option<(Arc<ToolResult>, Duration)> {
        let mut kept = self.kept();
        if kept.results.is_empty() {
            return None;
        }
        let now = Instant::now();
        kept.forget_until(now);
        let entry = kept.results.get(key)?;
        Some((Arc::clone(&entry.result), now - entry.since))
    }

    /// Keeps a result of so many bytes for so long, unless it is too large.
    pub(super) fn put(&self, key: Arc<Key>, result: Arc<ToolResult>, bytes: usize, ttl: Duration) {
        let bytes = bytes + key.weight();
        if ttl.is_zero() || self.limits.max_entries == 0 || bytes > self.limits.max_bytes {
            return;
        }
        let mut kept = self.kept();
        let now = Instant::now();
        kept.forget_until(now);
        kept.forget(&key);
        while kept.results.len() >= self.limits.max_entries || kept.bytes + bytes > self.limits.max_bytes {
            kept.forget_first();
        }
        kept.count += 1;
        let end = (now + ttl, kept.count);
        kept.bytes += bytes;
        kept.ends.insert(end, Arc::clone(&key));
        kept.results.insert(key, Entry { result, since: now, end, bytes });
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(super) fn usage(&self) -> (usize, usize) {
        let kept = self.kept();
        assert_eq!(kept.results.len(), kept.ends.len());
        assert_eq!(kept.bytes, kept.results.values().map(|entry| entry.bytes).sum::<usize>());
        (kept.results.len(), kept.bytes)
    }
}

impl Kept {
    /// Forgets what has ended by now.
    fn forget_until(&mut self, now: Instant) {
        while self.ends.first_key_value().is_some_and(|((end, _), _)| *end <= now) {
            self.forget_first();
        }
    }

    fn forget_first(&mut self) {
        if let Some((_, key)) = self.ends.pop_first() {
            self.forget(&key);
        }
    }

    fn forget(&mut self, key: &Key) {
        if let Some(entry) = self.results.remove(key) {
            self.ends.remove(&entry.end);
            self.bytes -= entry.bytes;
        }
    }
}
