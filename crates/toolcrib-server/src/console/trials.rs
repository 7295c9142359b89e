//! Calls that the operator makes on the console.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use toolcrib_model::ToolResult;
use toolcrib_model::text::truncate_chars;

/// The maximum number of remembered trials.
const MAX_TRIALS: usize = 50;

/// The maximum number of trials that run or wait for an approval.
const MAX_RUNNING: usize = 8;

/// The maximum length of a remembered result as JSON, in characters.
const MAX_RESULT_CHARS: usize = 20_000;

/// The latest calls that the operator has made on the console.
#[derive(Default)]
pub(crate) struct Trials(Mutex<TrialList>);

#[derive(Default)]
struct TrialList {
    trials: VecDeque<Arc<Trial>>,
    last: u64,
}

/// A call that the operator has made on the console.
#[derive(Clone, Debug)]
pub(crate) struct Trial {
    /// The number of the trial in this process, from 1.
    pub(super) number: u64,
    /// The tool, as `namespace.name`.
    pub(super) tool: String,
    started: Instant,
    pub(super) state: TrialState,
}

/// The state of a trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TrialState {
    /// The call runs, or waits for an approval.
    Running,
    /// The call has ended.
    Ended {
        is_ok: bool,
        /// The result, or the error, as JSON.
        text: String,
        /// True if the text is only the beginning.
        is_cut: bool,
        took: Duration,
    },
}

impl Trials {
    /// Adds a trial and returns its number, or `None` if too many run.
    pub(crate) fn start(&self, tool: String) -> Option<u64> {
        let mut list = self.0.lock();
        let running = list.trials.iter().filter(|trial| trial.state == TrialState::Running).count();
        if running >= MAX_RUNNING {
            return None;
        }
        list.last += 1;
        let number = list.last;
        let trial = Trial { number, tool, started: Instant::now(), state: TrialState::Running };
        list.trials.push_back(Arc::new(trial));
        if list.trials.len() > MAX_TRIALS {
            let ended = list.trials.iter().position(|trial| trial.state != TrialState::Running);
            list.trials.remove(ended.unwrap_or_default());
        }
        Some(number)
    }

    /// Records the result of a trial.
    pub(crate) fn end(&self, number: u64, result: &ToolResult) {
        let (is_ok, json) = match &result.error {
            Some(error) => (false, serde_json::to_string_pretty(error)),
            None => (true, serde_json::to_string_pretty(&result.result)),
        };
        let json = json.unwrap_or_default();
        let text = truncate_chars(&json, MAX_RESULT_CHARS);
        let is_cut = text.len() < json.len();
        let mut list = self.0.lock();
        if let Some(trial) = list.trials.iter_mut().find(|trial| trial.number == number) {
            let trial = Arc::make_mut(trial);
            let took = trial.started.elapsed();
            trial.state = TrialState::Ended { is_ok, text: text.to_owned(), is_cut, took };
        }
    }

    /// Returns the trial with this number, if it is remembered.
    pub(super) fn get(&self, number: u64) -> Option<Arc<Trial>> {
        self.0.lock().trials.iter().find(|trial| trial.number == number).cloned()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn trials_are_bounded_and_running_ones_stay() {
        let trials = Trials::default();
        let first = trials.start("a.b".into()).unwrap();
        for _ in 0..2 * MAX_TRIALS {
            let number = trials.start("a.b".into()).unwrap();
            trials.end(number, &ToolResult::ok(None, "a.b", json!("x".repeat(2 * MAX_RESULT_CHARS))));
        }
        assert_eq!(trials.0.lock().trials.len(), MAX_TRIALS);
        assert_eq!(trials.get(first).unwrap().state, TrialState::Running);
        let last = trials.0.lock().last;
        let last = trials.get(last).unwrap();
        assert!(matches!(&last.state, TrialState::Ended { is_cut: true, is_ok: true, .. }), "{last:?}");
        for _ in 1..MAX_RUNNING {
            assert!(trials.start("a.b".into()).is_some());
        }
        assert!(trials.start("a.b".into()).is_none());
    }
}
