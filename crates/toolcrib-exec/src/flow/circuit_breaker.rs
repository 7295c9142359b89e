//! A circuit breaker, which stops calls to a failing source for a while. It is a pure state machine: the caller passes
//! the time.
//!
//! ```text
//!            failures in a row                the time has passed
//!  closed ─────────────────────► open ───────────────────────────► probing
//!    ▲                             ▲                                  │
//!    │ the probe succeeds          │ it fails: twice as long          │
//!    └─────────────────────────────┴──────────────────────────────────┘
//! ```
//!
//! It avoids two faults of other circuit breakers. A probe that never reports, because its future was dropped or hangs,
//! does not keep the circuit open: dropping its ticket ends the probe, and a probe that is too old is replaced. A call
//! that started before a change of state and ends after it has no effect: its ticket holds the epoch in which it
//! started.

use std::num::NonZeroU32;
use std::time::Duration;

use tokio::time::Instant;
use toolcrib_model::{ErrorKind, ToolResult};

/// The time after which a failure is forgotten if no other follows.
const FAILURE_MEMORY: Duration = Duration::from_mins(5);

/// The settings of a circuit breaker.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct BreakerSettings {
    pub(super) failures: NonZeroU32,
    pub(super) open: Duration,
    pub(super) max_open: Duration,
}

/// The evidence that an attempt gives about the health of its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AttemptReport {
    /// The source answers, if only to report that the tool failed.
    Works,
    /// The source does not answer.
    Fails,
    /// The attempt says nothing about the source.
    Nothing,
}

/// The refusal of a call while the circuit is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CircuitOpen {
    /// The number of consecutive failures.
    pub(super) failures: u32,
    /// The time until another attempt is allowed.
    pub(super) retry_after: Duration,
}

/// The ticket of an attempt, with the epoch in which it started.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ticket(u64);

/// The state change that a report caused, for the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CircuitChange {
    Opened(Duration),
    Closed,
}

#[derive(Debug)]
pub(super) struct CircuitBreaker {
    settings: Option<BreakerSettings>,
    state: CircuitState,
    /// The number of state changes so far.
    epoch: u64,
    /// The number of consecutive failures.
    failures: u32,
}

#[derive(Debug)]
enum CircuitState {
    Closed { last_failure: Option<Instant> },
    Open { until: Instant, time: Duration },
    Probing { since: Instant, time: Duration },
}

impl AttemptReport {
    /// Classifies the result of an attempt. Only faults of the source itself count against it. An error that the tool
    /// reported shows that the source works. A call without an answer counts, regardless of its error kind; an error
    /// for which only one tool is unusable, such as a program that is not installed, does not count: such errors are
    /// not retryable.
    pub(super) fn of(result: &ToolResult) -> Self {
        let Some(error) = &result.error else { return Self::Works };
        match error.kind {
            ErrorKind::Timeout | ErrorKind::Overloaded | ErrorKind::OutcomeUnknown => Self::Fails,
            ErrorKind::Unavailable if error.retryable => Self::Fails,
            ErrorKind::ToolFailed
            | ErrorKind::InvalidArgs
            | ErrorKind::InputRequired
            | ErrorKind::NotFound => Self::Works,
            _ => Self::Nothing,
        }
    }
}

impl CircuitBreaker {
    pub(super) fn new(settings: Option<BreakerSettings>) -> Self {
        Self { settings, state: CircuitState::Closed { last_failure: None }, epoch: 0, failures: 0 }
    }

    /// Returns an error if a call would be refused now. It reserves nothing.
    pub(super) fn check(&self, now: impl FnOnce() -> Instant) -> Result<(), CircuitOpen> {
        match self.state {
            CircuitState::Closed { .. } => Ok(()),
            CircuitState::Open { until, .. } => self.refuse_until(until, now()),
            CircuitState::Probing { since, time } => self.refuse_until(since + time, now()),
        }
    }

    /// Admits a call. If the circuit was open, that call is the probe.
    pub(super) fn admit(&mut self, now: impl Fn() -> Instant) -> Result<Ticket, CircuitOpen> {
        self.check(&now)?;
        if let CircuitState::Open { time, .. } | CircuitState::Probing { time, .. } = self.state {
            self.enter(CircuitState::Probing { since: now(), time });
        }
        Ok(Ticket(self.epoch))
    }

    /// Records the outcome of the call with this ticket.
    pub(super) fn settle(
        &mut self,
        Ticket(epoch): Ticket,
        report: AttemptReport,
        now: impl Fn() -> Instant,
    ) -> Option<CircuitChange> {
        let settings = self.settings.as_ref()?;
        if epoch != self.epoch {
            return None;
        }
        match (&mut self.state, report) {
            (CircuitState::Closed { last_failure }, AttemptReport::Works) => {
                *last_failure = None;
                self.failures = 0;
                None
            }
            (CircuitState::Closed { last_failure }, AttemptReport::Fails) => {
                let now = now();
                let is_fresh = last_failure.is_some_and(|last| now - last <= FAILURE_MEMORY);
                *last_failure = Some(now);
                self.failures = if is_fresh { self.failures.saturating_add(1) } else { 1 };
                let time = settings.open;
                (self.failures >= settings.failures.get()).then(|| self.open(now, time))
            }
            (CircuitState::Probing { .. }, AttemptReport::Works) => {
                self.failures = 0;
                self.enter(CircuitState::Closed { last_failure: None });
                Some(CircuitChange::Closed)
            }
            (CircuitState::Probing { time, .. }, AttemptReport::Fails) => {
                let time = time.saturating_mul(2).min(settings.max_open);
                self.failures = self.failures.saturating_add(1);
                Some(self.open(now(), time))
            }
            // The next call may probe immediately.
            (CircuitState::Probing { time, .. }, AttemptReport::Nothing) => {
                let time = *time;
                self.enter(CircuitState::Open { until: now(), time });
                None
            }
            (CircuitState::Closed { .. }, AttemptReport::Nothing) | (CircuitState::Open { .. }, _) => None,
        }
    }

    /// Returns true if the state equals that of a new one.
    pub(super) fn is_idle(&self, now: Instant) -> bool {
        match self.state {
            CircuitState::Closed { last_failure } => {
                last_failure.is_none_or(|last| now - last > FAILURE_MEMORY)
            }
            CircuitState::Open { until, .. } => now > until + FAILURE_MEMORY,
            CircuitState::Probing { .. } => false,
        }
    }

    #[cfg(test)]
    pub(super) fn is_probing(&self) -> bool {
        matches!(self.state, CircuitState::Probing { .. })
    }

    fn refuse_until(&self, until: Instant, now: Instant) -> Result<(), CircuitOpen> {
        if now >= until {
            return Ok(());
        }
        Err(CircuitOpen { failures: self.failures, retry_after: until - now })
    }

    fn open(&mut self, now: Instant, time: Duration) -> CircuitChange {
        self.enter(CircuitState::Open { until: now + time, time });
        CircuitChange::Opened(time)
    }

    fn enter(&mut self, state: CircuitState) {
        self.state = state;
        self.epoch += 1;
    }
}
