//! Between the gate and the engine: how many calls run, how often, and whether they have to run at all.
//!
//! A call passes, in this order,
//!
//! 1. the cache: a fresh result of the same call by the same principal is used again ([`cache`], [`key`]);
//! 2. single flight: the same call that is under way is waited for ([`flight`]);
//! 3. the circuit breaker of its source: one that does not answer is left alone for a while ([`breaker`]);
//! 4. the gate of its tool, then that of its source: a place, and its turn under the rate limit ([`gate`], [`rate`]).
//!    The tool comes first, so that the calls that wait for a tool that hangs hold no place of the source, and queues
//!    are fair and bounded;
//! 5. the attempt; and when it failed in passing and the tool is idempotent, after a while 3 to 5 again ([`retry`]).
//!
//! All of it counts against the deadline of the call, ends when its caller gives up, and is given back when its future is
//! dropped. A tool that is not idempotent is attempted at most once, whatever happens.
//!
//! # What is bounded by default
//!
//! The calls of sources outside of this process. Those of engines in this process pass with three look-ups in maps that
//! never change, without a lock and without memory, unless they have limits of their own. The runtime's own tools
//! pass unseen: they forward calls, and a place that a forwarder holds is one that the call inside waits for.
//!
//! # Declarations of tools
//!
//! - `idempotent: true`: may be tried again.
//! - `cacheable: true | {ttl_seconds, scope: session | shared}`, for a tool of low risk without side effects: results are
//!   kept, and the same call runs once at a time. Results belong to the session, the agent and the user, unless `shared`.
//! - `max_concurrency`: fewer calls side by side than the operator allows.
//!
//! # Metadata of results
//!
//! `cached` and `age_ms` of one from the cache, `shared` of one that somebody else's call brought, `attempts` when there
//! were several, `queued_ms` when it had to wait, and [`RETRY_AFTER`].
//!
//! # Why no crate for it
//!
//! The queues are tokio's semaphores, which are fair. For the rest: `tower`'s layers bound one service, and here are many by
//! name, each call with a deadline of its own; `recloser` lets all calls through while it probes, and reads the standard
//! clock, which a test cannot pause; `governor` waits by a timer of its own, in no order; `moka` brings fifteen crates and
//! a clock of its own. What is needed of each is a page of code.

mod breaker;
mod cache;
mod flight;
mod gate;
mod key;
mod lineage;
mod patience;
mod rate;
mod refusal;
mod retry;
mod settings;
mod source;

#[cfg(test)]
mod tests;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use toolcrib_model::{ErrorKind, Tool, ToolResult};
use toolcrib_policy::{Authorized, Call, RUNTIME_NAMESPACE};
use toolcrib_port::CallContext;

pub use lineage::Lineage;
pub use refusal::RETRY_AFTER;
pub(crate) use refusal::milliseconds;
pub use settings::*;

use breaker::Report;
use cache::Cache;
use flight::{Flights, Lead, Outcome, Part};
use gate::{Gate, Pass};
use key::{Cacheable, Key};
use patience::Patience;
use refusal::{Refusal, Whose};
use source::{Permission, Source, States};

/// The metadata of a result that says how often the call was attempted, when that was more than once.
const ATTEMPTS: &str = "attempts";

/// The metadata of a result that says how long the call waited for its turn.
const QUEUED: &str = "queued_ms";

/// Flow control: one for an executor.
#[derive(Debug)]
pub struct Flow {
    settings: FlowSettings,
    sources: States<Arc<str>, Source>,
    cache: Cache,
    flights: Flights,
}

/// What a call has to pass.
struct Way {
    source: Arc<Source>,
    tool: Option<Arc<Gate>>,
}

/// What an attempt holds.
struct Admission {
    permission: Permission,
    source: Pass,
    _tool: Option<Pass>,
    waited: Duration,
}

impl Default for Flow {
    fn default() -> Self {
        Self::new(FlowSettings::default())
    }
}

impl Flow {
    /// Flow control with these settings.
    pub fn new(settings: FlowSettings) -> Self {
        let cache = Cache::new(settings.cache.clone());
        Self { settings, sources: States::default(), cache, flights: Flights::default() }
    }

    /// What it was told.
    pub(crate) fn settings(&self) -> &FlowSettings {
        &self.settings
    }

    /// Runs a call, when there is room for it and it has to be run. `deadline` is the call's own; an attempt ends by it
    /// on its own account, and when `context` is cancelled.
    ///
    /// `above` is what the calls above this one hold, and an attempt is handed what the calls that it makes have to name.
    /// Without calls above it is [`Lineage::default`]. `in_process` is what the [engine](toolcrib_port::ToolEngine) says of
    /// itself.
    pub async fn run<Attempt, Running>(
        &self,
        call: &Authorized<Call>,
        context: &CallContext,
        above: &Lineage,
        deadline: Option<Instant>,
        in_process: bool,
        mut attempt: Attempt,
    ) -> ToolResult
    where
        Attempt: FnMut(Lineage) -> Running,
        Running: Future<Output = ToolResult>,
    {
        if call.tool.name.namespace() == RUNTIME_NAMESPACE {
            return attempt(above.clone()).await;
        }
        let patience = Patience { context, deadline };
        let mut lead = None;
        if let Some(cacheable) = Cacheable::of(&call.tool, self.cache.limits().ttl)
            && let Some(key) = Key::of(call, context, cacheable)
        {
            match self.answer(&key, call, patience, in_process).await {
                Ok(result) => return result,
                Err(part) => lead = part.map(|lead| (lead, cacheable.ttl)),
            }
        }
        let result = self.attempts(call, patience, above, in_process, &mut attempt).await;
        if let Some((lead, ttl)) = lead {
            self.land(lead, &result, ttl);
        }
        result
    }

    /// The answer that is kept, or that another call brings. Without one, this call has to run, for the others too when
    /// it is given the lead.
    async fn answer(
        &self,
        key: &Arc<Key>,
        call: &Call,
        patience: Patience<'_>,
        in_process: bool,
    ) -> Result<ToolResult, Option<Lead<'_>>> {
        let (source, tool) = limited_as(call);
        let queue = self.settings.tool_gate(source, tool, in_process).queue;
        let queue = usize::try_from(queue).unwrap_or(usize::MAX);
        loop {
            if let Some(result) = self.cached(key, call) {
                return Ok(result);
            }
            let follower = match self.flights.join(key, queue) {
                Part::Follows(follower) => follower,
                Part::TooMany => {
                    let queue = u32::try_from(queue).unwrap_or(u32::MAX);
                    return Ok(Refusal::Full { whose: Whose::SameCall, queue }.of(call));
                }
                Part::Leads(lead) => {
                    // The last leader may have landed since the cache was asked.
                    return self.cached(key, call).ok_or(Some(lead));
                }
            };
            match patience.wait(follower.outcome()).await {
                Ok(Some(Outcome::Same(result))) => {
                    return Ok(of_call(&result, call).with_metadata("shared", true));
                }
                Ok(Some(Outcome::TooLarge)) => return Err(None),
                Ok(None) => {}
                Err(refusal) => return Ok(refusal.of(call)),
            }
        }
    }

    fn cached(&self, key: &Key, call: &Call) -> Option<ToolResult> {
        let (result, age) = self.cache.get(key)?;
        let result = of_call(&result, call).with_metadata("cached", true);
        Some(result.with_metadata("age_ms", milliseconds(age)))
    }

    /// Keeps what the leader of a flight got, and tells those who wait. When the leader was given up, or ran out of time,
    /// that says nothing of the others, and one of them leads.
    fn land(&self, lead: Lead<'_>, result: &ToolResult, ttl: Duration) {
        let kind = result.error.as_ref().map(|error| error.kind);
        if matches!(kind, Some(ErrorKind::Cancelled | ErrorKind::Timeout)) {
            return;
        }
        let Some(bytes) = key::weight(result, self.cache.limits().max_entry_bytes) else {
            return lead.land(Outcome::TooLarge);
        };
        let mut result = result.clone();
        // What is the leader's own.
        result.call_id = None;
        for key in [ATTEMPTS, QUEUED] {
            result.metadata.remove(key);
        }
        let result = Arc::new(result);
        if kind.is_none() {
            self.cache.put(Arc::clone(lead.key()), Arc::clone(&result), bytes, ttl);
        }
        lead.land(Outcome::Same(result));
    }

    /// Runs the call, and again when that is safe and may help.
    async fn attempts<Attempt, Running>(
        &self,
        call: &Call,
        patience: Patience<'_>,
        above: &Lineage,
        in_process: bool,
        attempt: &mut Attempt,
    ) -> ToolResult
    where
        Attempt: FnMut(Lineage) -> Running,
        Running: Future<Output = ToolResult>,
    {
        let way = self.way(call, in_process);
        let mut retries = 0;
        let mut waited = Duration::ZERO;
        let mut last = None;
        loop {
            let admission = match &way {
                None => None,
                Some(way) => match way.enter(above, patience, retries > 0).await {
                    Ok(admission) => Some(admission),
                    // What an attempt came to says more than why there is no further one.
                    Err(refusal) => {
                        return finish(last.unwrap_or_else(|| refusal.of(call)), retries, waited);
                    }
                },
            };
            let lineage = admission.as_ref().map_or(above, |admission| &admission.source.lineage);
            let result = attempt(lineage.clone()).await;
            if let Some(admission) = admission {
                waited += admission.waited;
                admission.permission.settle(Report::of(&result));
            }
            let Some(pause) = self.pause(call, &result, retries, patience.deadline, in_process) else {
                return finish(result, retries + 1, waited);
            };
            retries += 1;
            if patience.wait(tokio::time::sleep(pause)).await.is_err() {
                return finish(result, retries, waited);
            }
            last = Some(result);
        }
    }

    /// How long to wait for another attempt, when there should be one.
    fn pause(
        &self,
        call: &Call,
        result: &ToolResult,
        retries: u32,
        deadline: Option<Instant>,
        in_process: bool,
    ) -> Option<Duration> {
        let pause = retry::backoff(&call.tool, result, retries)?;
        let is_late = || deadline.is_some_and(|deadline| Instant::now() + pause >= deadline);
        let (source, tool) = limited_as(call);
        if retries >= self.settings.retries(source, tool) || is_late() {
            return None;
        }
        self.source(source, in_process).spend_retry().then_some(pause)
    }

    /// What the call has to pass; `None` when that is nothing.
    fn way(&self, call: &Call, in_process: bool) -> Option<Way> {
        let (source, tool) = limited_as(call);
        if in_process && self.settings.is_unbounded(source, tool) {
            return None;
        }
        let source = self.source(source, in_process);
        let tool = source.tool(tool, &self.settings);
        Some(Way { source, tool })
    }

    /// What is known of a source, made when it is first called.
    fn source(&self, name: &Arc<str>, in_process: bool) -> Arc<Source> {
        let make = || (Arc::clone(name), Source::new(Arc::clone(name), in_process, &self.settings));
        self.sources.get(&**name, |_| true, make)
    }
}

impl Way {
    async fn enter(
        &self,
        above: &Lineage,
        patience: Patience<'_>,
        is_retry: bool,
    ) -> Result<Admission, Refusal> {
        self.source.check().map_err(Refusal::Held)?;
        let tool = match &self.tool {
            None => None,
            Some(gate) => Some(gate.enter(Whose::Tool, above, patience).await?),
        };
        let (above, waited) =
            tool.as_ref().map_or((above, Duration::ZERO), |pass| (&pass.lineage, pass.waited));
        let source = self.source.gate.enter(Whose::Source, above, patience).await?;
        // It may have stopped answering meanwhile.
        let permission = self.source.permit(is_retry).map_err(Refusal::Held)?;
        let waited = waited + source.waited;
        Ok(Admission { permission, source, _tool: tool, waited })
    }
}

/// Returns the source and the tool whose limits hold for a call. A call that amounts to a call of another tool has its
/// limits, so that they hold however that tool is reached.
pub(crate) fn limited_as(call: &Call) -> (&Arc<str>, &Tool) {
    match call.tool.equivalent() {
        Some(equivalent) => (&equivalent.source, &equivalent.tool),
        None => (&call.source, &call.tool),
    }
}

/// The result of another call, as that of this one.
fn of_call(result: &ToolResult, call: &Call) -> ToolResult {
    let mut result = result.clone();
    result.call_id.clone_from(&call.call_id);
    result
}

fn finish(mut result: ToolResult, attempts: u32, waited: Duration) -> ToolResult {
    if attempts > 1 {
        result = result.with_metadata(ATTEMPTS, attempts);
    }
    if !waited.is_zero() {
        result = result.with_metadata(QUEUED, milliseconds(waited));
    }
    result
}
