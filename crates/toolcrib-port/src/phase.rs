//! The progress and the phase of a call, and the time it has spent waiting for a person.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// The progress of a running call, as its tool reports it.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// The amount of work done, in a unit that the tool chooses; it only grows.
    pub done: f64,
    /// The total amount of work in the same unit, if known.
    pub total: Option<f64>,
    /// A message about the current step.
    pub message: Option<String>,
}

/// A listener for the progress of a call. It runs between two steps of the call, so it must not block.
pub trait ProgressListener: Send + Sync {
    /// Receives the current progress of the call.
    fn progress(&self, progress: &Progress);
}

/// The phase of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallPhase {
    /// The policy has not decided yet.
    Pending,
    /// The call, or a call below it, waits for a person to answer.
    WaitingForPerson,
    /// An engine runs the call.
    Running,
}

/// A tracker of the phase of a call. Clones track the same call.
///
/// A tool that calls tools gets a [child](Self::child): what happens to the inner calls shows in the outer one. Time spent
/// waiting for a person is not the call's own, so the timers here leave it out.
#[derive(Clone, Debug)]
pub struct PhaseTracker(Arc<Tracked>);

#[derive(Debug)]
struct Tracked {
    state: watch::Sender<State>,
    parent: Option<PhaseTracker>,
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    has_started: bool,
    /// The number of open questions.
    waiting: usize,
    /// The time at which the first of them was asked.
    since: Option<Instant>,
    /// The length of the earlier waits.
    waited: Duration,
}

impl Default for PhaseTracker {
    fn default() -> Self {
        Self::with_parent(None)
    }
}

impl PhaseTracker {
    /// Returns the tracker of a call without a caller.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the tracker of a call below this one.
    pub fn child(&self) -> Self {
        Self::with_parent(Some(self.clone()))
    }

    fn with_parent(parent: Option<Self>) -> Self {
        Self(Arc::new(Tracked { state: watch::Sender::default(), parent }))
    }

    /// Returns the current phase.
    pub fn phase(&self) -> CallPhase {
        self.0.state.borrow().phase()
    }

    /// Returns the time spent waiting for a person so far, the current wait included.
    pub fn waited(&self) -> Duration {
        self.0.state.borrow().waited_until(Instant::now())
    }

    /// Records that an engine runs the call now.
    pub fn start(&self) {
        self.update(&|state| state.has_started = true);
    }

    /// Records that a person is asked, until the guard is dropped.
    #[must_use = "the wait ends when the guard is dropped"]
    pub fn wait_for_person(&self) -> PersonWait {
        let now = Instant::now();
        self.update(&|state| {
            state.waiting += 1;
            state.since.get_or_insert(now);
        });
        PersonWait(self.clone())
    }

    /// Waits until the phase fulfils a condition.
    pub async fn wait_until(&self, fits: impl Fn(CallPhase) -> bool) {
        // The sender lives as long as this tracker.
        let _ = self.0.state.subscribe().wait_for(|state| fits(state.phase())).await;
    }

    /// Waits until the deadline, extended by the time that the call spends waiting for a person from now on.
    pub async fn sleep_until(&self, deadline: Instant) {
        let mut state = self.0.state.subscribe();
        let before = state.borrow_and_update().waited_until(Instant::now());
        loop {
            let State { waiting, waited, .. } = *state.borrow_and_update();
            if waiting == 0 {
                let end = deadline + waited.saturating_sub(before);
                if end <= Instant::now() {
                    return;
                }
                tokio::select! {
                    () = sleep_until(end) => {}
                    _ = state.changed() => {}
                }
            } else {
                // The sender lives as long as this tracker.
                let _ = state.changed().await;
            }
        }
    }

    /// Changes this call's state and that of the calls above it.
    fn update(&self, change: &dyn Fn(&mut State)) {
        let mut tracker = Some(self);
        while let Some(PhaseTracker(tracked)) = tracker {
            tracked.state.send_modify(change);
            tracker = tracked.parent.as_ref();
        }
    }
}

impl State {
    fn phase(&self) -> CallPhase {
        match (self.waiting, self.has_started) {
            (0, false) => CallPhase::Pending,
            (0, true) => CallPhase::Running,
            _ => CallPhase::WaitingForPerson,
        }
    }

    fn waited_until(&self, now: Instant) -> Duration {
        self.waited + self.since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since))
    }
}

/// Guard of a wait for a person, from [`PhaseTracker::wait_for_person`].
#[derive(Debug)]
pub struct PersonWait(PhaseTracker);

impl Drop for PersonWait {
    fn drop(&mut self) {
        let now = Instant::now();
        self.0.update(&|state| {
            state.waiting = state.waiting.saturating_sub(1);
            if state.waiting == 0 {
                state.waited = state.waited_until(now);
                state.since = None;
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn a_wait_below_shows_in_all_calls_above_and_in_no_other() {
        let outer = PhaseTracker::new();
        let (inner, sibling) = (outer.child(), outer.child());
        assert_eq!(outer.phase(), CallPhase::Pending);
        let (first, second) = (inner.wait_for_person(), inner.wait_for_person());
        tokio::time::advance(SECOND).await;
        drop(first);
        assert_eq!(
            (outer.phase(), inner.phase()),
            (CallPhase::WaitingForPerson, CallPhase::WaitingForPerson)
        );
        assert_eq!((sibling.phase(), sibling.waited()), (CallPhase::Pending, Duration::ZERO));
        drop(second);
        inner.start();
        tokio::time::advance(SECOND).await;
        assert_eq!((outer.phase(), outer.waited(), inner.waited()), (CallPhase::Running, SECOND, SECOND));
        assert_eq!(sibling.phase(), CallPhase::Pending);
    }

    #[tokio::test(start_paused = true)]
    async fn a_deadline_moves_by_the_time_spent_waiting_for_a_person() {
        let tracker = PhaseTracker::new();
        drop(tracker.wait_for_person());
        let (began, timer) = (Instant::now(), tracker.clone());
        let timer = tokio::spawn(async move { timer.sleep_until(Instant::now() + SECOND).await });
        tokio::task::yield_now().await;
        let wait = tracker.wait_for_person();
        tokio::time::sleep(60 * SECOND).await;
        assert!(!timer.is_finished());
        drop(wait);
        timer.await.unwrap();
        assert_eq!(began.elapsed(), 61 * SECOND);
    }
}
