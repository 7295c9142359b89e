//! The memory limits for messages of all connections: incoming request bodies, and answers that clients do not read.
//!
//! A body without remaining memory is rejected, since its client can send it again. An answer exists already: the
//! connections whose answers have waited the longest are closed to make room for it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

/// The maximum number of bytes of request bodies in memory, over all connections, not counting the first
/// [`FREE_BODY_BYTES`] of each. The largest body that an app can permit fits.
pub(crate) const MAX_BODY_BYTES_AT_ONCE: usize = toolcrib_app::sections::serve::MAX_BODY_BYTES;

/// The first bytes of a body, which do not count: small requests are accepted while large ones use all the memory.
pub(crate) const FREE_BODY_BYTES: usize = 64 * 1024;

/// The maximum number of bytes of answers that wait to be read by their clients, over all connections. A single larger
/// answer may wait alone.
pub(crate) const MAX_UNREAD_BYTES: usize = 64 * 1024 * 1024;

/// The size in bytes up to which a chunk of an answer does not count. A connection has at most one such chunk at a
/// time.
const FREE_UNREAD_BYTES: usize = 16 * 1024;

/// The bytes of request bodies over all connections.
#[derive(Clone, Debug, Default)]
pub(super) struct BodyBudget(Arc<AtomicUsize>);

/// The share of one body in the budget, returned when this is dropped.
#[derive(Debug)]
pub(super) struct BodyShare {
    budget: BodyBudget,
    taken: usize,
}

impl BodyBudget {
    /// Returns the number of counted bytes.
    #[cfg(test)]
    pub(super) fn used(&self) -> usize {
        self.0.load(Ordering::Acquire)
    }

    pub(super) fn share(&self) -> BodyShare {
        BodyShare { budget: self.clone(), taken: 0 }
    }
}

impl BodyShare {
    /// Grows the share to a body of `bytes` bytes, or returns `false` if the memory does not suffice.
    pub(super) fn grow_to(&mut self, bytes: usize) -> bool {
        let more = bytes.saturating_sub(FREE_BODY_BYTES).saturating_sub(self.taken);
        let grown = self.budget.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, |used| {
            used.checked_add(more).filter(|used| *used <= MAX_BODY_BYTES_AT_ONCE)
        });
        if grown.is_ok() {
            self.taken += more;
        }
        grown.is_ok()
    }
}

impl Drop for BodyShare {
    fn drop(&mut self) {
        self.budget.0.fetch_sub(self.taken, Ordering::AcqRel);
    }
}

/// The bytes of answers that were passed on for writing and are not written yet.
#[derive(Debug, Default)]
pub(super) struct AnswerBudget(Mutex<UnreadChunks>);

#[derive(Debug, Default)]
struct UnreadChunks {
    last: u64,
    bytes: usize,
    /// The chunks, the oldest first, each with the token that closes its connection.
    chunks: BTreeMap<u64, (usize, CancellationToken)>,
}

/// A chunk of an answer, which counts until it is written or its connection ends.
struct CountedChunk {
    budget: Arc<AnswerBudget>,
    number: u64,
    data: Bytes,
}

impl AnswerBudget {
    /// Counts a chunk of an answer until it is dropped. Cancels the connections of the oldest chunks if there are too
    /// many bytes.
    pub(super) fn counted(self: &Arc<Self>, data: Bytes, connection: &CancellationToken) -> Bytes {
        if data.len() <= FREE_UNREAD_BYTES {
            return data;
        }
        let mut unread = self.0.lock();
        unread.last += 1;
        let number = unread.last;
        unread.bytes += data.len();
        unread.chunks.insert(number, (data.len(), connection.clone()));
        let mut given_up = Vec::new();
        while unread.bytes > MAX_UNREAD_BYTES && unread.chunks.len() > 1 {
            let Some((_, (bytes, connection))) = unread.chunks.pop_first() else { break };
            unread.bytes = unread.bytes.saturating_sub(bytes);
            given_up.push(connection);
        }
        drop(unread);
        for connection in given_up {
            tracing::warn!("a connection is closed: its client does not read, and others need the memory");
            connection.cancel();
        }
        Bytes::from_owner(CountedChunk { budget: Arc::clone(self), number, data })
    }
}

impl AsRef<[u8]> for CountedChunk {
    fn as_ref(&self) -> &[u8] {
        &self.data
    }
}

impl Drop for CountedChunk {
    fn drop(&mut self) {
        let mut unread = self.budget.0.lock();
        if let Some((bytes, _)) = unread.chunks.remove(&self.number) {
            unread.bytes = unread.bytes.saturating_sub(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_take_no_more_than_their_budget_and_give_it_back() {
        let budget = BodyBudget::default();
        let mut large = budget.share();
        assert!(large.grow_to(MAX_BODY_BYTES_AT_ONCE));
        let mut other = budget.share();
        assert!(other.grow_to(FREE_BODY_BYTES) && other.grow_to(2 * FREE_BODY_BYTES));
        assert!(!other.grow_to(2 * FREE_BODY_BYTES + 1));
        drop(large);
        assert!(other.grow_to(MAX_BODY_BYTES_AT_ONCE));
        drop(other);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn the_oldest_unread_answers_give_way_to_newer_ones() {
        let budget = Arc::new(AnswerBudget::default());
        let part = || Bytes::from(vec![0; MAX_UNREAD_BYTES / 4]);
        let connections: Vec<_> = (0..6).map(|_| CancellationToken::new()).collect();
        let mut held: Vec<_> = connections.iter().map(|one| budget.counted(part(), one)).collect();
        let closed: Vec<_> = connections.iter().map(CancellationToken::is_cancelled).collect();
        assert_eq!(closed, [true, true, false, false, false, false]);
        held.pop();
        let last = CancellationToken::new();
        held.push(budget.counted(part(), &last));
        assert!(!connections[2].is_cancelled(), "what was written makes room");
        held.push(budget.counted(Bytes::from(vec![0; MAX_UNREAD_BYTES * 2]), &last));
        assert!(connections[4].is_cancelled());
        drop(held);
        assert_eq!(budget.0.lock().bytes, 0);
    }
}
