//! Flow control between authorization and engine: caching, single flight, circuit breakers, concurrency limits, rate
//! limits, retries.
//!
//! A call passes, in this order,
//!
//! 1. the cache: a fresh result of the same call by the same principal is reused (`result_cache`, `cache_key`);
//! 2. single flight: if the same call is in flight, this one waits for its result (`single_flight`);
//! 3. the circuit breaker of its source: a source that does not answer is not called for a while (`circuit_breaker`);
//! 4. the concurrency limit and the rate limit of its tool, then those of its source (`concurrency_limit`,
//!    `rate_limiter`). The tool comes first, so that calls that wait for a hanging tool hold no permits of the source.
//!    Queues are fair and bounded;
//! 5. the attempt; after a transient failure of an idempotent tool, a pause and steps 3 to 5 again (`retry`).
//!
//! All of this counts against the deadline of the call, ends when its caller gives up, and releases everything when its
//! future is dropped. A tool that is not idempotent is attempted at most once.
//!
//! # Default limits
//!
//! By default, the calls of sources outside of this process are limited. Calls of engines in this process pass with
//! three lookups in immutable maps, without a lock or an allocation, unless they have limits of their own. The
//! runtime's own tools are not limited: they forward calls, and a permit held by the forwarding call is one that the
//! inner call waits for.
//!
//! # Declarations of tools
//!
//! - `idempotent: true`: the call may be retried.
//! - `cacheable: true | {ttl_seconds, scope: session | shared}`, for a tool of low risk without side effects: results
//!   are cached, and the same call runs once at a time. Results belong to the session, the agent and the user, unless
//!   `shared`.
//! - `max_concurrency`: fewer concurrent calls than the operator allows.
//!
//! # Metadata of results
//!
//! `cached` and `age_ms` of a result from the cache, `shared` of the result of another caller's call, `attempts` if
//! there were several, `queued_ms` if the call had to wait, and `retry_after_ms`.
//!
//! # Dependencies that were not used
//!
//! The queues are tokio's semaphores, which are fair. For the rest: `tower`'s layers limit one service, while there are
//! many here, by name, and each call has its own deadline; `recloser` lets all calls through while it probes, and reads
//! the standard clock, which a test cannot pause; `governor` waits with its own timer, in no order; `moka` adds fifteen
//! crates and its own clock. The needed part of each is a page of code.

mod cache_key;
mod call_chain;
mod circuit_breaker;
mod concurrency_limit;
mod process_count;
mod rate_limiter;
mod refusal;
mod result_cache;
mod retry;
mod settings;
mod shared_rates;
mod single_flight;
mod source_state;
mod wait_limit;

#[cfg(test)]
mod tests;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use toolcrib_model::{ErrorKind, ResultNote, Tool, ToolResult};
use toolcrib_policy::{Authorized, Call};
use toolcrib_port::CallContext;

pub use call_chain::CallChain;
pub use process_count::ProcessCount;
pub use settings::*;
pub use shared_rates::SharedRates;

use cache_key::{CacheKey, cacheable};
use circuit_breaker::AttemptReport;
use concurrency_limit::{ConcurrencyLimit, ConcurrencyPermit};
use refusal::{LimitedSubject, Refusal};
use result_cache::ResultCache;
use shared_rates::RateSharing;
use single_flight::{Leader, Role, SharedOutcome, SingleFlight};
use source_state::{AttemptPermit, SourceState, StateMap};
use wait_limit::WaitLimit;

/// The flow control of an executor.
#[derive(Debug)]
pub struct FlowControl {
    settings: FlowSettings,
    sources: StateMap<Arc<str>, SourceState>,
    cache: ResultCache,
    flights: SingleFlight,
    sharing: RateSharing,
}

/// The limits that a call has to pass.
struct CallLimits {
    source: Arc<SourceState>,
    tool: Option<Arc<ConcurrencyLimit>>,
}

/// The permits that an attempt holds.
struct Admission {
    attempt_permit: AttemptPermit,
    source: ConcurrencyPermit,
    _tool: Option<ConcurrencyPermit>,
    waited: Duration,
}

impl Default for FlowControl {
    fn default() -> Self {
        Self::new(FlowSettings::default())
    }
}

impl FlowControl {
    /// Creates flow control with these settings.
    pub fn new(settings: FlowSettings) -> Self {
        let cache = ResultCache::new(settings.cache.clone());
        Self {
            settings,
            sources: StateMap::default(),
            cache,
            flights: SingleFlight::default(),
            sharing: RateSharing::default(),
        }
    }

    /// Returns the number of processes that share the rate limits. It is 1 until it is set.
    pub fn processes(&self) -> &ProcessCount {
        &self.sharing.processes
    }

    /// Sets the store that counts the calls of exact rate limits.
    pub fn with_shared_rates(mut self, rates: Arc<dyn SharedRates>) -> Self {
        self.sharing.rates = Some(rates);
        self
    }

    /// Returns the settings.
    pub(crate) fn settings(&self) -> &FlowSettings {
        &self.settings
    }

    /// Runs a call when its limits allow it, or returns a cached result. `deadline` is that of the call; each attempt
    /// has to enforce it, and to end when `context` is cancelled.
    ///
    /// `above` holds the permits of the calls above this one; an attempt receives the chain for the calls that it
    /// makes. Without calls above, pass [`CallChain::default`]. `in_process` is
    /// [`is_in_process`](toolcrib_port::ToolEngine::is_in_process) of the engine.
    pub async fn run<Attempt, Running>(
        &self,
        call: &Authorized<Call>,
        context: &CallContext,
        above: &CallChain,
        deadline: Option<Instant>,
        in_process: bool,
        mut attempt: Attempt,
    ) -> ToolResult
    where
        Attempt: FnMut(CallChain) -> Running,
        Running: Future<Output = ToolResult>,
    {
        if call.tool.name.is_of_runtime() {
            return attempt(above.clone()).await;
        }
        let wait_limit = WaitLimit { context, deadline };
        let mut leader = None;
        if let Some(cacheable) = cacheable(&call.tool)
            && let Some(key) = CacheKey::of(call, context, cacheable)
        {
            match self.answer(&key, call, wait_limit, in_process).await {
                Ok(result) => return result,
                Err(part) => {
                    let ttl = cacheable.ttl.unwrap_or(self.cache.limits().ttl).min(MAX_TTL);
                    leader = part.map(|leader| (leader, ttl));
                }
            }
        }
        let result = self.attempts(call, wait_limit, above, in_process, &mut attempt).await;
        if let Some((leader, ttl)) = leader {
            self.complete(leader, &result, ttl);
        }
        result
    }

    /// Returns the cached result, or that of another call in flight. Without one, this call has to run; with a leader, it
    /// runs for the others too.
    async fn answer(
        &self,
        key: &Arc<CacheKey>,
        call: &Call,
        wait_limit: WaitLimit<'_>,
        in_process: bool,
    ) -> Result<ToolResult, Option<Leader<'_>>> {
        let (source, tool) = limited_as(call);
        let queue = self.settings.tool_limit(source, tool, in_process).queue;
        let queue = usize::try_from(queue).unwrap_or(usize::MAX);
        loop {
            if let Some(result) = self.cached(key, call) {
                return Ok(result);
            }
            let follower = match self.flights.join(key, queue) {
                Role::Follows(follower) => follower,
                Role::TooMany => {
                    let queue = u32::try_from(queue).unwrap_or(u32::MAX);
                    return Ok(Refusal::Full { subject: LimitedSubject::SameCall, queue }.of(call));
                }
                Role::Leads(leader) => {
                    // The last leader may have completed since the cache was read.
                    return self.cached(key, call).ok_or(Some(leader));
                }
            };
            match wait_limit.wait(follower.outcome()).await {
                Ok(Some(SharedOutcome::Same(result))) => {
                    return Ok(of_call(&result, call).with_metadata("shared", true));
                }
                Ok(Some(SharedOutcome::TooLarge)) => return Err(None),
                Ok(None) => {}
                Err(refusal) => return Ok(refusal.of(call)),
            }
        }
    }

    fn cached(&self, key: &CacheKey, call: &Call) -> Option<ToolResult> {
        let (result, age) = self.cache.get(key)?;
        Some(of_call(&result, call).with_note(ResultNote::Cached(age)))
    }

    /// Caches the result of a leader, and publishes it to its followers. If the leader was cancelled or timed out, this
    /// says nothing about the others, and one of them becomes the leader.
    fn complete(&self, leader: Leader<'_>, result: &ToolResult, ttl: Duration) {
        let kind = result.error.as_ref().map(|error| error.kind);
        if matches!(kind, Some(ErrorKind::Cancelled | ErrorKind::Timeout)) {
            return;
        }
        let Some(bytes) = cache_key::weight(result, self.cache.limits().max_entry_bytes) else {
            return leader.complete(SharedOutcome::TooLarge);
        };
        let mut result = result.clone();
        // These fields belong to the leader only.
        result.call_id = None;
        result.forget_attempts();
        let result = Arc::new(result);
        if kind.is_none() {
            self.cache.put(Arc::clone(leader.key()), Arc::clone(&result), bytes, ttl);
        }
        leader.complete(SharedOutcome::Same(result));
    }

    /// Runs the call, and retries it if that is safe and may help.
    async fn attempts<Attempt, Running>(
        &self,
        call: &Call,
        wait_limit: WaitLimit<'_>,
        above: &CallChain,
        in_process: bool,
        attempt: &mut Attempt,
    ) -> ToolResult
    where
        Attempt: FnMut(CallChain) -> Running,
        Running: Future<Output = ToolResult>,
    {
        let limits = self.limits(call, in_process);
        let mut retries = 0;
        let mut waited = Duration::ZERO;
        let mut last = None;
        loop {
            let admission = match &limits {
                None => None,
                Some(limits) => match limits.enter(above, wait_limit, retries > 0).await {
                    Ok(admission) => Some(admission),
                    // The result of an attempt is more informative than the reason why there is no other.
                    Err(refusal) => {
                        return finish(last.unwrap_or_else(|| refusal.of(call)), retries, waited);
                    }
                },
            };
            let call_chain = admission.as_ref().map_or(above, |admission| &admission.source.call_chain);
            let result = attempt(call_chain.clone()).await;
            if let Some(admission) = admission {
                waited += admission.waited;
                admission.attempt_permit.settle(AttemptReport::of(&result));
            }
            let Some(pause) = self.pause(call, &result, retries, wait_limit.deadline, in_process) else {
                return finish(result, retries + 1, waited);
            };
            retries += 1;
            if wait_limit.wait(tokio::time::sleep(pause)).await.is_err() {
                return finish(result, retries, waited);
            }
            last = Some(result);
        }
    }

    /// Returns the pause before another attempt, if there should be one.
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

    /// Returns the limits that the call has to pass; `None` without any.
    fn limits(&self, call: &Call, in_process: bool) -> Option<CallLimits> {
        let (source, tool) = limited_as(call);
        if in_process && self.settings.is_unbounded(source, tool) {
            return None;
        }
        let source = self.source(source, in_process);
        let tool = source.tool(tool, &self.settings);
        Some(CallLimits { source, tool })
    }

    /// Returns the state of a source, which is created at its first call.
    fn source(&self, name: &Arc<str>, in_process: bool) -> Arc<SourceState> {
        let make = || {
            (Arc::clone(name), SourceState::new(Arc::clone(name), in_process, &self.settings, &self.sharing))
        };
        self.sources.get(&**name, |_| true, make)
    }
}

impl CallLimits {
    async fn enter(
        &self,
        above: &CallChain,
        wait_limit: WaitLimit<'_>,
        is_retry: bool,
    ) -> Result<Admission, Refusal> {
        self.source.check().map_err(Refusal::CircuitOpen)?;
        let tool = match &self.tool {
            None => None,
            Some(limit) => Some(limit.enter(LimitedSubject::Tool, above, wait_limit).await?),
        };
        let (above, waited) =
            tool.as_ref().map_or((above, Duration::ZERO), |permit| (&permit.call_chain, permit.waited));
        let source = self.source.limit.enter(LimitedSubject::Source, above, wait_limit).await?;
        // The circuit may have opened meanwhile.
        let attempt_permit = self.source.permit(is_retry).map_err(Refusal::CircuitOpen)?;
        let waited = waited + source.waited;
        Ok(Admission { attempt_permit, source, _tool: tool, waited })
    }
}

/// Returns the source and the tool whose limits apply to a call. A call that is equivalent to a call of another tool
/// has the limits of that tool, so that they apply regardless of how the tool is reached.
pub(crate) fn limited_as(call: &Call) -> (&Arc<str>, &Tool) {
    match call.tool.equivalent() {
        Some(equivalent) => (&equivalent.source, &equivalent.tool),
        None => (&call.source, &call.tool),
    }
}

/// Returns the result of another call as that of this one.
fn of_call(result: &ToolResult, call: &Call) -> ToolResult {
    let mut result = result.clone();
    result.call_id.clone_from(&call.call_id);
    result
}

fn finish(mut result: ToolResult, attempts: u32, waited: Duration) -> ToolResult {
    if attempts > 1 {
        result.note(ResultNote::Attempts(attempts));
    }
    if !waited.is_zero() {
        result.note(ResultNote::Queued(waited));
    }
    result
}
