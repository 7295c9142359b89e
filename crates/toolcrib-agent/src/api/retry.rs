//! Retries of failed requests.

use std::time::Duration;

use toolcrib_model::random::random_bytes;

use super::settings::MAX_RETRY_DELAY;
use crate::Error;

/// The number of retries of a request whose response stalled or broke off. Each retry may take the whole timeout.
const MAX_BROKEN_RETRIES: u32 = 1;

/// The attempts at one request.
#[derive(Debug)]
pub(super) struct Retries {
    attempts: u32,
    delay: Duration,
    made: u32,
    broken: u32,
}

impl Retries {
    pub(super) fn new(attempts: u32, delay: Duration) -> Self {
        Self { attempts, delay, made: 0, broken: 0 }
    }

    /// Returns the pause before another attempt, if there is to be one. `chance`, below 1, spreads those who failed
    /// together.
    pub(super) fn pause(&mut self, error: &Error, chance: f64) -> Option<Duration> {
        self.made += 1;
        if self.made >= self.attempts || !error.is_unavailable() {
            return None;
        }
        if matches!(error, Error::TimedOut { .. } | Error::Interrupted { .. }) {
            self.broken += 1;
            if self.broken > MAX_BROKEN_RETRIES {
                return None;
            }
        }
        if let Error::Refused { retry_after: Some(wanted), .. } = error {
            // At least as long as it was asked for.
            let pause = wanted.saturating_add(self.delay.mul_f64(chance));
            return (*wanted <= MAX_RETRY_DELAY).then_some(pause);
        }
        let doubled = self.delay.saturating_mul(1 << (self.made - 1).min(8)).min(MAX_RETRY_DELAY);
        Some(doubled.div_f64(2.0) + doubled.div_f64(2.0).mul_f64(chance))
    }
}

/// Returns a number from 0 to below 1.
pub(super) fn chance() -> f64 {
    // Without a source of chance all wait equally long.
    random_bytes().map_or(0.5, |bytes| f64::from(u32::from_ne_bytes(bytes)) / (f64::from(u32::MAX) + 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(status: u16, retry_after: Option<u64>) -> Error {
        let retry_after = retry_after.map(Duration::from_millis);
        Error::Refused { url: String::new(), status, message: String::new(), hint: None, retry_after }
    }

    fn broken() -> Error {
        Error::Interrupted { url: String::new(), reason: String::new() }
    }

    fn pauses(errors: &[Error], chance: f64) -> Vec<Option<u128>> {
        let mut retries = Retries::new(4, Duration::from_millis(500));
        errors.iter().map(|error| Some(retries.pause(error, chance)?.as_millis())).collect()
    }

    #[test]
    fn each_pause_is_twice_as_long_and_spread_over_its_second_half() {
        let errors = [refused(503, None), refused(500, None), refused(429, None), refused(503, None)];
        assert_eq!(pauses(&errors, 0.0), [Some(250), Some(500), Some(1000), None]);
        assert_eq!(pauses(&errors, 0.5), [Some(375), Some(750), Some(1500), None]);
        assert!((0.0..1.0).contains(&chance()));
    }

    #[test]
    fn a_server_is_left_alone_at_least_as_long_as_it_asks() {
        assert_eq!(pauses(&[refused(429, Some(2000))], 0.0), [Some(2000)]);
        assert_eq!(pauses(&[refused(429, Some(2000))], 0.5), [Some(2250)]);
        assert_eq!(pauses(&[refused(429, Some(3_600_000))], 0.5), [None]);
    }

    #[test]
    fn an_answer_that_breaks_off_is_asked_for_once_more() {
        assert_eq!(pauses(&[broken(), broken()], 0.0), [Some(250), None]);
        assert_eq!(pauses(&[broken(), refused(503, None), broken()], 0.0), [Some(250), Some(500), None]);
    }

    #[test]
    fn what_the_server_does_not_take_is_not_sent_again() {
        for status in [400, 401, 403, 404, 422] {
            assert_eq!(pauses(&[refused(status, None)], 0.0), [None]);
        }
    }
}
