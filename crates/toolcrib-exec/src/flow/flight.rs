//! The same call made twice at the same time runs once.
//!
//! The first is the leader, and the others wait for its result. A leader that is dropped takes nobody along: its channel
//! closes with it, those who wait look again, and the first of them leads.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use toolcrib_model::ToolResult;

use super::key::Key;

/// The calls that are under way.
#[derive(Debug, Default)]
pub(super) struct Flights(Mutex<HashMap<Arc<Key>, Arc<Sender>>>);

type Sender = watch::Sender<Option<Outcome>>;

/// What the leader tells those who wait.
#[derive(Clone, Debug)]
pub(super) enum Outcome {
    /// This is the result for all.
    Same(Arc<ToolResult>),
    /// It is too large to be handed round: everybody runs the call.
    TooLarge,
}

/// How a call takes part.
pub(super) enum Part<'a> {
    Leads(Lead<'a>),
    Follows(Follower),
    /// So many follow already that nobody else may.
    TooMany,
}

/// Runs the call for all. Dropping it lets another lead.
pub(super) struct Lead<'a> {
    flights: &'a Flights,
    key: Arc<Key>,
    sender: Arc<Sender>,
}

/// Waits for the leader.
pub(super) struct Follower(watch::Receiver<Option<Outcome>>);

impl Flights {
    /// Joins those who make this call, of whom so many may wait.
    pub(super) fn join(&self, key: &Arc<Key>, queue: usize) -> Part<'_> {
        let mut flights = self.under_way();
        match flights.get(key) {
            Some(sender) if sender.receiver_count() >= queue => Part::TooMany,
            Some(sender) => Part::Follows(Follower(sender.subscribe())),
            None => {
                let sender = Arc::new(watch::Sender::new(None));
                flights.insert(Arc::clone(key), Arc::clone(&sender));
                Part::Leads(Lead { flights: self, key: Arc::clone(key), sender })
            }
        }
    }

    fn under_way(&self) -> MutexGuard<'_, HashMap<Arc<Key>, Arc<Sender>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.under_way().len()
    }
}

impl Lead<'_> {
    /// The call that it leads.
    pub(super) fn key(&self) -> &Arc<Key> {
        &self.key
    }

    /// Tells those who wait.
    pub(super) fn land(self, outcome: Outcome) {
        self.sender.send_replace(Some(outcome));
    }
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        self.flights.under_way().remove(&self.key);
    }
}

impl Follower {
    /// What the leader says; `None` when it gave up.
    pub(super) async fn outcome(mut self) -> Option<Outcome> {
        self.0.wait_for(Option::is_some).await.ok()?.clone()
    }
}
