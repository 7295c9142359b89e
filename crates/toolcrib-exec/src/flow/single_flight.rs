//! Single flight: identical concurrent calls run once.
//!
//! The first call is the leader, and the others wait for its result. If the leader is dropped, its channel closes, its
//! followers try again, and the first of them becomes the leader.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;
use toolcrib_model::ToolResult;

use super::cache_key::CacheKey;

/// The calls in flight.
#[derive(Debug, Default)]
pub(super) struct SingleFlight(Mutex<HashMap<Arc<CacheKey>, Arc<Sender>>>);

type Sender = watch::Sender<Option<SharedOutcome>>;

/// The outcome that the leader publishes to its followers.
#[derive(Clone, Debug)]
pub(super) enum SharedOutcome {
    /// The result for all.
    Same(Arc<ToolResult>),
    /// The result is too large to be shared: every caller runs the call.
    TooLarge,
}

/// The role of a call in a flight.
pub(super) enum Role<'a> {
    Leads(Leader<'a>),
    Follows(Follower),
    /// The maximum number of followers is reached.
    TooMany,
}

/// The call that runs for all. Dropping it lets another lead.
pub(super) struct Leader<'a> {
    flights: &'a SingleFlight,
    key: Arc<CacheKey>,
    sender: Arc<Sender>,
}

/// A call that waits for the leader.
pub(super) struct Follower(watch::Receiver<Option<SharedOutcome>>);

impl SingleFlight {
    /// Joins the flight of this call, which may have a limited number of followers.
    pub(super) fn join(&self, key: &Arc<CacheKey>, queue: usize) -> Role<'_> {
        let mut flights = self.0.lock();
        match flights.get(key) {
            Some(sender) if sender.receiver_count() >= queue => Role::TooMany,
            Some(sender) => Role::Follows(Follower(sender.subscribe())),
            None => {
                let sender = Arc::new(watch::Sender::new(None));
                flights.insert(Arc::clone(key), Arc::clone(&sender));
                Role::Leads(Leader { flights: self, key: Arc::clone(key), sender })
            }
        }
    }

    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.0.lock().len()
    }
}

impl Leader<'_> {
    /// Returns the key of the call.
    pub(super) fn key(&self) -> &Arc<CacheKey> {
        &self.key
    }

    /// Publishes the outcome.
    pub(super) fn complete(self, outcome: SharedOutcome) {
        self.sender.send_replace(Some(outcome));
    }
}

impl Drop for Leader<'_> {
    fn drop(&mut self) {
        self.flights.0.lock().remove(&self.key);
    }
}

impl Follower {
    /// Waits for the outcome; returns `None` if the leader gave up.
    pub(super) async fn outcome(mut self) -> Option<SharedOutcome> {
        self.0.wait_for(Option::is_some).await.ok()?.clone()
    }
}
