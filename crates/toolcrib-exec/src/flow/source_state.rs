//! The state of sources and their tools, which is dropped when they are idle.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use tokio::time::Instant;
use toolcrib_model::{QualifiedName, Tool};

use super::circuit_breaker::{AttemptReport, CircuitBreaker, CircuitChange, CircuitOpen, Ticket};
use super::concurrency_limit::ConcurrencyLimit;
use super::retry::RetryBudget;
use super::settings::FlowSettings;
use super::shared_rates::RateSharing;

/// The minimum number of states before idle ones are dropped.
const MIN_STATES: usize = 64;

/// The state of a source.
#[derive(Debug)]
pub(super) struct SourceState {
    name: Arc<str>,
    in_process: bool,
    pub(super) limit: Arc<ConcurrencyLimit>,
    tools: StateMap<QualifiedName, ConcurrencyLimit>,
    sharing: RateSharing,
    health: Mutex<Health>,
}

#[derive(Debug)]
struct Health {
    breaker: CircuitBreaker,
    budget: RetryBudget,
}

/// A permit for one attempt. Dropping it reports no outcome.
#[derive(Debug)]
pub(super) struct AttemptPermit {
    source: Arc<SourceState>,
    ticket: Option<Ticket>,
}

impl SourceState {
    pub(super) fn new(
        name: Arc<str>,
        in_process: bool,
        settings: &FlowSettings,
        sharing: &RateSharing,
    ) -> Self {
        let health = Health {
            breaker: CircuitBreaker::new(settings.breaker(&name, in_process)),
            budget: RetryBudget::new(),
        };
        let limit =
            Arc::new(ConcurrencyLimit::new(settings.source_limit(&name, in_process), sharing, || {
                format!("source {name}")
            }));
        let (tools, sharing) = (StateMap::default(), sharing.clone());
        Self { name, in_process, limit, tools, sharing, health: Mutex::new(health) }
    }

    /// Returns the limit of one of the source's tools.
    pub(super) fn tool(&self, tool: &Tool, settings: &FlowSettings) -> Option<Arc<ConcurrencyLimit>> {
        let limits = settings.tool_limit(&self.name, tool, self.in_process);
        if limits.is_unlimited() {
            return None;
        }
        Some(self.tools.get(
            &tool.name,
            |limit| *limit.settings() == limits,
            || {
                let id = || format!("tool {}", tool.name);
                (tool.name.clone(), ConcurrencyLimit::new(limits.clone(), &self.sharing, id))
            },
        ))
    }

    /// Returns an error while the circuit is open.
    pub(super) fn check(&self) -> Result<(), CircuitOpen> {
        self.health.lock().breaker.check(Instant::now)
    }

    /// Permits an attempt.
    pub(super) fn permit(self: &Arc<Self>, is_retry: bool) -> Result<AttemptPermit, CircuitOpen> {
        let mut health = self.health.lock();
        let ticket = health.breaker.admit(Instant::now)?;
        if !is_retry {
            health.budget.add_share();
        }
        Ok(AttemptPermit { source: Arc::clone(self), ticket: Some(ticket) })
    }

    /// Returns true if a retry is left, and spends it.
    pub(super) fn spend_retry(&self) -> bool {
        self.health.lock().budget.spend(Instant::now())
    }

    /// Returns the source's limit and those of its tools.
    #[cfg(test)]
    pub(super) fn limits(&self) -> Vec<Arc<ConcurrencyLimit>> {
        let mut limits = self.tools.all();
        limits.push(Arc::clone(&self.limit));
        limits
    }

    #[cfg(test)]
    pub(super) fn is_probing(&self) -> bool {
        self.health.lock().breaker.is_probing()
    }

    fn settle(&self, ticket: Ticket, report: AttemptReport) {
        let change = self.health.lock().breaker.settle(ticket, report, Instant::now);
        match change {
            Some(CircuitChange::Opened(time)) => {
                tracing::warn!(source = %self.name, seconds = time.as_secs_f64(), "left alone: it does not answer");
            }
            Some(CircuitChange::Closed) => tracing::info!(source = %self.name, "answers again"),
            None => {}
        }
    }
}

impl AttemptPermit {
    /// Reports the outcome of the attempt.
    pub(super) fn settle(mut self, report: AttemptReport) {
        if let Some(ticket) = self.ticket.take() {
            self.source.settle(ticket, report);
        }
    }
}

impl Drop for AttemptPermit {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            self.source.settle(ticket, AttemptReport::Nothing);
        }
    }
}

/// State that can be dropped.
pub(super) trait Evictable {
    /// Returns true if the state equals that of a new one.
    fn is_idle(&self, now: Instant) -> bool;
}

impl Evictable for ConcurrencyLimit {
    fn is_idle(&self, now: Instant) -> bool {
        Self::is_idle(self, now)
    }
}

impl Evictable for SourceState {
    fn is_idle(&self, now: Instant) -> bool {
        let health = self.health.lock();
        let is_well = health.breaker.is_idle(now) && health.budget.is_idle(now);
        is_well && self.limit.is_idle(now) && self.tools.are_idle(now)
    }
}

/// States by key, created at their first use. Whenever their number has doubled, the idle ones are dropped, so that
/// there are never more than twice as many as are in use, and each call pays a constant share of the search.
#[derive(Debug)]
pub(super) struct StateMap<K, V>(RwLock<StateMapInner<K, V>>);

#[derive(Debug)]
struct StateMapInner<K, V> {
    states: HashMap<K, Arc<V>>,
    /// The number of states at which the idle ones are dropped.
    limit: usize,
}

impl<K, V> Default for StateMap<K, V> {
    fn default() -> Self {
        Self(RwLock::new(StateMapInner { states: HashMap::new(), limit: MIN_STATES }))
    }
}

impl<K: Eq + Hash, V: Evictable> StateMap<K, V> {
    /// Returns the state of this key, or a new one if there is no state that fits.
    pub(super) fn get<Q: Eq + Hash + ?Sized>(
        &self,
        key: &Q,
        fits: impl Fn(&V) -> bool,
        make: impl FnOnce() -> (K, V),
    ) -> Arc<V>
    where
        K: Borrow<Q>,
    {
        let find = |states: &HashMap<K, Arc<V>>| states.get(key).filter(|state| fits(state)).cloned();
        if let Some(state) = find(&self.0.read().states) {
            return state;
        }
        let mut known = self.0.write();
        if let Some(state) = find(&known.states) {
            return state;
        }
        if known.states.len() >= known.limit {
            let now = Instant::now();
            // A state that is still referenced may be about to be used.
            known.states.retain(|_, state| Arc::strong_count(state) > 1 || !state.is_idle(now));
            known.limit = known.states.len().saturating_mul(2).max(MIN_STATES);
        }
        let (key, state) = make();
        let state = Arc::new(state);
        known.states.insert(key, Arc::clone(&state));
        state
    }

    fn are_idle(&self, now: Instant) -> bool {
        let known = self.0.read();
        known.states.values().all(|state| Arc::strong_count(state) == 1 && state.is_idle(now))
    }

    #[cfg(test)]
    pub(super) fn all(&self) -> Vec<Arc<V>> {
        self.0.read().states.values().cloned().collect()
    }
}
