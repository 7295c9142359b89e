//! What is known of a source and its tools while they are called, and forgotten after.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use tokio::time::Instant;
use toolcrib_model::{QualifiedName, Tool};

use super::breaker::{Breaker, Change, Held, Report, Ticket};
use super::gate::Gate;
use super::retry::Budget;
use super::settings::FlowSettings;

/// With fewer than that, nothing is forgotten, since nothing would be won.
const MIN_KNOWN: usize = 64;

/// What is known of a source.
#[derive(Debug)]
pub(super) struct Source {
    name: Arc<str>,
    in_process: bool,
    pub(super) gate: Arc<Gate>,
    tools: States<QualifiedName, Gate>,
    health: Mutex<Health>,
}

#[derive(Debug)]
struct Health {
    breaker: Breaker,
    budget: Budget,
}

/// Permission for one attempt. Dropping it says that nothing is known of how it ended.
#[derive(Debug)]
pub(super) struct Permission {
    source: Arc<Source>,
    ticket: Option<Ticket>,
}

impl Source {
    pub(super) fn new(name: Arc<str>, in_process: bool, settings: &FlowSettings) -> Self {
        let health =
            Health { breaker: Breaker::new(settings.breaker(&name, in_process)), budget: Budget::new() };
        let gate = Arc::new(Gate::new(settings.source_gate(&name, in_process)));
        Self { name, in_process, gate, tools: States::default(), health: Mutex::new(health) }
    }

    /// The gate of one of its tools.
    pub(super) fn tool(&self, tool: &Tool, settings: &FlowSettings) -> Option<Arc<Gate>> {
        let plan = settings.tool_gate(&self.name, tool, self.in_process);
        if plan.is_open() {
            return None;
        }
        Some(self.tools.get(
            &tool.name,
            |gate| *gate.plan() == plan,
            || (tool.name.clone(), Gate::new(plan.clone())),
        ))
    }

    /// Whether a call would be let through now.
    pub(super) fn check(&self) -> Result<(), Held> {
        self.health().breaker.check(Instant::now)
    }

    /// Lets an attempt through.
    pub(super) fn permit(self: &Arc<Self>, is_retry: bool) -> Result<Permission, Held> {
        let mut health = self.health();
        let ticket = health.breaker.admit(Instant::now)?;
        if !is_retry {
            health.budget.pay_in();
        }
        Ok(Permission { source: Arc::clone(self), ticket: Some(ticket) })
    }

    /// Whether there is a retry left. It is spent.
    pub(super) fn spend_retry(&self) -> bool {
        self.health().budget.spend(Instant::now())
    }

    /// Its own gate and those of its tools.
    #[cfg(test)]
    pub(super) fn gates(&self) -> Vec<Arc<Gate>> {
        let mut gates = self.tools.all();
        gates.push(Arc::clone(&self.gate));
        gates
    }

    #[cfg(test)]
    pub(super) fn is_probing(&self) -> bool {
        self.health().breaker.is_probing()
    }

    fn health(&self) -> MutexGuard<'_, Health> {
        self.health.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn settle(&self, ticket: Ticket, report: Report) {
        let change = self.health().breaker.settle(ticket, report, Instant::now);
        match change {
            Some(Change::Opened(time)) => {
                tracing::warn!(source = %self.name, seconds = time.as_secs_f64(), "left alone: it does not answer");
            }
            Some(Change::Closed) => tracing::info!(source = %self.name, "answers again"),
            None => {}
        }
    }
}

impl Permission {
    /// What came of the attempt.
    pub(super) fn settle(mut self, report: Report) {
        if let Some(ticket) = self.ticket.take() {
            self.source.settle(ticket, report);
        }
    }
}

impl Drop for Permission {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            self.source.settle(ticket, Report::Nothing);
        }
    }
}

/// What can be forgotten.
pub(super) trait Forgettable {
    /// Whether it knows nothing that a new one would not know.
    fn is_idle(&self, now: Instant) -> bool;
}

impl Forgettable for Gate {
    fn is_idle(&self, now: Instant) -> bool {
        Self::is_idle(self, now)
    }
}

impl Forgettable for Source {
    fn is_idle(&self, now: Instant) -> bool {
        let health = self.health();
        let is_well = health.breaker.is_idle(now) && health.budget.is_idle(now);
        is_well && self.gate.is_idle(now) && self.tools.are_idle(now)
    }
}

/// States by key, made when they are first asked for. Whenever their number has doubled, the idle ones are forgotten, so
/// that there are never more than twice as many as are in use, and each call pays a constant share of the search.
#[derive(Debug)]
pub(super) struct States<K, V>(RwLock<Known<K, V>>);

#[derive(Debug)]
struct Known<K, V> {
    states: HashMap<K, Arc<V>>,
    /// How many there may be before the idle ones are forgotten.
    limit: usize,
}

impl<K, V> Default for States<K, V> {
    fn default() -> Self {
        Self(RwLock::new(Known { states: HashMap::new(), limit: MIN_KNOWN }))
    }
}

impl<K: Eq + Hash, V: Forgettable> States<K, V> {
    /// The state under this key, or a new one when there is none, or none that fits.
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
        if let Some(state) = find(&self.0.read().unwrap_or_else(PoisonError::into_inner).states) {
            return state;
        }
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(state) = find(&known.states) {
            return state;
        }
        if known.states.len() >= known.limit {
            let now = Instant::now();
            // Whoever has a state in hand may be about to use it.
            known.states.retain(|_, state| Arc::strong_count(state) > 1 || !state.is_idle(now));
            known.limit = known.states.len().saturating_mul(2).max(MIN_KNOWN);
        }
        let (key, state) = make();
        let state = Arc::new(state);
        known.states.insert(key, Arc::clone(&state));
        state
    }

    fn are_idle(&self, now: Instant) -> bool {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        known.states.values().all(|state| Arc::strong_count(state) == 1 && state.is_idle(now))
    }

    #[cfg(test)]
    pub(super) fn all(&self) -> Vec<Arc<V>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).states.values().cloned().collect()
    }
}
