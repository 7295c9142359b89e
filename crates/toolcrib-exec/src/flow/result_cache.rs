//! The cache of results.
//!
//! It is limited in number and in bytes. The entry that expires first makes room for a new one, so that one order by
//! time serves both purposes, and no expired entry outlives the next lookup.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use toolcrib_model::ToolResult;

use super::cache_key::CacheKey;
use super::settings::CacheLimits;

#[derive(Debug)]
pub(super) struct ResultCache {
    limits: CacheLimits,
    state: Mutex<CacheState>,
}

#[derive(Debug, Default)]
struct CacheState {
    results: HashMap<Arc<CacheKey>, CacheEntry>,
    /// The keys by the expiry of their entries.
    expiries: BTreeMap<Expiry, Arc<CacheKey>>,
    bytes: usize,
    /// The number of entries ever added, which orders those that expire at the same time.
    count: u64,
}

type Expiry = (Instant, u64);

#[derive(Debug)]
struct CacheEntry {
    result: Arc<ToolResult>,
    since: Instant,
    end: Expiry,
    bytes: usize,
}

impl ResultCache {
    pub(super) fn new(limits: CacheLimits) -> Self {
        Self { limits, state: Mutex::default() }
    }

    pub(super) fn limits(&self) -> &CacheLimits {
        &self.limits
    }

    /// Returns a result and its age.
    pub(super) fn get(&self, key: &CacheKey) -> Option<(Arc<ToolResult>, Duration)> {
        let mut state = self.state.lock();
        if state.results.is_empty() {
            return None;
        }
        let now = Instant::now();
        state.remove_expired(now);
        let entry = state.results.get(key)?;
        Some((Arc::clone(&entry.result), now - entry.since))
    }

    /// Caches a result of a number of bytes for a time, unless it is too large.
    pub(super) fn put(&self, key: Arc<CacheKey>, result: Arc<ToolResult>, bytes: usize, ttl: Duration) {
        let bytes = bytes + key.weight();
        if ttl.is_zero() || self.limits.max_entries == 0 || bytes > self.limits.max_bytes {
            return;
        }
        let mut state = self.state.lock();
        let now = Instant::now();
        state.remove_expired(now);
        state.remove(&key);
        while state.results.len() >= self.limits.max_entries || state.bytes + bytes > self.limits.max_bytes {
            state.remove_first();
        }
        state.count += 1;
        let end = (now + ttl, state.count);
        state.bytes += bytes;
        state.expiries.insert(end, Arc::clone(&key));
        state.results.insert(key, CacheEntry { result, since: now, end, bytes });
    }

    #[cfg(test)]
    pub(super) fn usage(&self) -> (usize, usize) {
        let state = self.state.lock();
        assert_eq!(state.results.len(), state.expiries.len());
        assert_eq!(state.bytes, state.results.values().map(|entry| entry.bytes).sum::<usize>());
        (state.results.len(), state.bytes)
    }
}

impl CacheState {
    /// Removes the entries that have expired.
    fn remove_expired(&mut self, now: Instant) {
        while self.expiries.first_key_value().is_some_and(|((end, _), _)| *end <= now) {
            self.remove_first();
        }
    }

    fn remove_first(&mut self) {
        if let Some((_, key)) = self.expiries.pop_first() {
            self.remove(&key);
        }
    }

    fn remove(&mut self, key: &CacheKey) {
        if let Some(entry) = self.results.remove(key) {
            self.expiries.remove(&entry.end);
            self.bytes -= entry.bytes;
        }
    }
}
