//! A source that keeps failing is left alone for a while. A pure state machine: it is told the time.
//!
//! ```text
//!            failures in a row                the time is over
//!  closed ─────────────────────► open ───────────────────────────► probing
//!    ▲                             ▲                                  │
//!    │ the probe succeeds          │ it fails: twice as long          │
//!    └─────────────────────────────┴──────────────────────────────────┘
//! ```
//!
//! Two faults of circuit breakers elsewhere are excluded. A probe that never reports, because its future was dropped or
//! hangs, does not hold the circuit for ever: its ticket gives the probe back, and a probe that is too old is replaced.
//! And an old call that ends late decides nothing about what came after it: its ticket has the number of the stretch that
//! it began in.

use std::num::NonZeroU32;
use std::time::Duration;

use tokio::time::Instant;
use toolcrib_model::{ErrorKind, ToolResult};

/// A failure is forgotten when none follows it for this long.
const FAILURE_MEMORY: Duration = Duration::from_mins(5);

/// When a source is left alone.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rules {
    pub(super) failures: NonZeroU32,
    pub(super) open: Duration,
    pub(super) max_open: Duration,
}

/// What an attempt says of the source that ran it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Report {
    /// It answers, if only to say that the tool failed.
    Works,
    /// It does not answer.
    Fails,
    /// Nothing.
    Nothing,
}

/// Why a call is held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Held {
    /// How many failures there were in a row.
    pub(super) failures: u32,
    /// When it is worth another try.
    pub(super) retry_after: Duration,
}

/// What an attempt reports with: the stretch between two changes of state that it began in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ticket(u64);

/// What a report changed, for the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Opened(Duration),
    Closed,
}

#[derive(Debug)]
pub(super) struct Breaker {
    rules: Option<Rules>,
    state: State,
    /// Counts the changes of state.
    stretch: u64,
    /// How many failures there were in a row.
    failures: u32,
}

#[derive(Debug)]
enum State {
    Closed { last_failure: Option<Instant> },
    Open { until: Instant, time: Duration },
    Probing { since: Instant, time: Duration },
}

impl Report {
    /// Only what the source itself is at fault for counts against it. An error that the tool reported shows that the
    /// source works. A call that was sent and not answered counts, whatever it is called; a source that a single tool
    /// cannot use, as when its program is not installed, does not: such errors are not retryable.
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

impl Breaker {
    pub(super) fn new(rules: Option<Rules>) -> Self {
        Self { rules, state: State::Closed { last_failure: None }, stretch: 0, failures: 0 }
    }

    /// Whether a call would be let through now. It holds nothing.
    pub(super) fn check(&self, now: impl FnOnce() -> Instant) -> Result<(), Held> {
        match self.state {
            State::Closed { .. } => Ok(()),
            State::Open { until, .. } => self.hold_back_until(until, now()),
            State::Probing { since, time } => self.hold_back_until(since + time, now()),
        }
    }

    /// Lets a call through. When the circuit was open, that call is the probe.
    pub(super) fn admit(&mut self, now: impl Fn() -> Instant) -> Result<Ticket, Held> {
        self.check(&now)?;
        if let State::Open { time, .. } | State::Probing { time, .. } = self.state {
            self.enter(State::Probing { since: now(), time });
        }
        Ok(Ticket(self.stretch))
    }

    /// What came of the call that the ticket was for.
    pub(super) fn settle(
        &mut self,
        Ticket(stretch): Ticket,
        report: Report,
        now: impl Fn() -> Instant,
    ) -> Option<Change> {
        let rules = self.rules.as_ref()?;
        if stretch != self.stretch {
            return None;
        }
        match (&mut self.state, report) {
            (State::Closed { last_failure }, Report::Works) => {
                *last_failure = None;
                self.failures = 0;
                None
            }
            (State::Closed { last_failure }, Report::Fails) => {
                let now = now();
                let is_fresh = last_failure.is_some_and(|last| now - last <= FAILURE_MEMORY);
                *last_failure = Some(now);
                self.failures = if is_fresh { self.failures.saturating_add(1) } else { 1 };
                let time = rules.open;
                (self.failures >= rules.failures.get()).then(|| self.open(now, time))
            }
            (State::Probing { .. }, Report::Works) => {
                self.failures = 0;
                self.enter(State::Closed { last_failure: None });
                Some(Change::Closed)
            }
            (State::Probing { time, .. }, Report::Fails) => {
                let time = time.saturating_mul(2).min(rules.max_open);
                self.failures = self.failures.saturating_add(1);
                Some(self.open(now(), time))
            }
            // The next call may probe at once.
            (State::Probing { time, .. }, Report::Nothing) => {
                let time = *time;
                self.enter(State::Open { until: now(), time });
                None
            }
            (State::Closed { .. }, Report::Nothing) | (State::Open { .. }, _) => None,
        }
    }

    /// Whether it knows nothing that a new one would not know.
    pub(super) fn is_idle(&self, now: Instant) -> bool {
        match self.state {
            State::Closed { last_failure } => last_failure.is_none_or(|last| now - last > FAILURE_MEMORY),
            State::Open { until, .. } => now > until + FAILURE_MEMORY,
            State::Probing { .. } => false,
        }
    }

    #[cfg(test)]
    pub(super) fn is_probing(&self) -> bool {
        matches!(self.state, State::Probing { .. })
    }

    fn hold_back_until(&self, until: Instant, now: Instant) -> Result<(), Held> {
        if now >= until {
            return Ok(());
        }
        Err(Held { failures: self.failures, retry_after: until - now })
    }

    fn open(&mut self, now: Instant, time: Duration) -> Change {
        self.enter(State::Open { until: now + time, time });
        Change::Opened(time)
    }

    fn enter(&mut self, state: State) {
        self.state = state;
        self.stretch += 1;
    }
}
