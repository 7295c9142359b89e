//! The times of the runs of a schedule.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, Zoned};

use crate::time::Cron;

/// The maximum number of runs that are counted as missed at once.
pub(super) const MAX_COUNTED: u64 = 10_000;

/// The shortest time between two runs of a pattern.
pub(crate) const MIN_CRON_INTERVAL: SignedDuration = SignedDuration::from_secs(5);

/// The times of the runs of a schedule.
#[derive(Clone, Debug)]
pub enum ScheduleTime {
    /// A single run.
    Once(Zoned),
    /// Repeated runs.
    Cron(Box<Cron>),
}

impl ScheduleTime {
    /// Returns the first run after a time.
    pub(super) fn after(&self, moment: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Once(at) => Some(at.timestamp()).filter(|at| *at > moment),
            Self::Cron(cron) => cron.next_after(moment),
        }
    }

    /// Returns the last run up to `now`, and the number of runs from `first` to that run, inclusive and at most
    /// [`MAX_COUNTED`]. `first` is a run that is not after `now`.
    pub(super) fn latest(&self, first: Timestamp, now: Timestamp) -> (Timestamp, u64) {
        let passed = |moment: Timestamp| self.after(moment).filter(|next| *next <= now);
        let (mut latest, mut count) = (first, 1);
        while count < MAX_COUNTED {
            match passed(latest) {
                Some(next) => (latest, count) = (next, count + 1),
                None => return (latest, count),
            }
        }
        // `after` is monotonic, so a binary search finds the last run.
        let mut end = now;
        while let Some(next) = passed(latest) {
            latest = next;
            let middle = latest + end.duration_since(latest) / 2;
            match passed(middle) {
                Some(next) => latest = next,
                None => end = middle,
            }
        }
        (latest, count)
    }

    /// Returns up to `count` runs, starting with `first`.
    pub(super) fn from(&self, first: Option<Timestamp>, count: usize) -> Vec<Timestamp> {
        std::iter::successors(first, |moment| self.after(*moment)).take(count).collect()
    }

    /// Returns the interval between the first two consecutive runs that are closer than [`MIN_CRON_INTERVAL`].
    pub(super) fn interval_below_minimum(&self, now: Timestamp) -> Option<SignedDuration> {
        // One more than the seconds of a minute, which covers each pair of consecutive seconds.
        const CHECKED_RUNS: usize = 61;
        let moments = self.from(self.after(now), CHECKED_RUNS);
        let pairs = moments.iter().zip(moments.iter().skip(1));
        pairs.map(|(one, other)| other.duration_since(*one)).find(|time| *time < MIN_CRON_INTERVAL)
    }

    pub(super) fn zone(&self) -> &TimeZone {
        match self {
            Self::Once(at) => at.time_zone(),
            Self::Cron(cron) => cron.zone(),
        }
    }

    /// Returns a description for people and models.
    pub(super) fn description(&self) -> String {
        match self {
            Self::Once(at) => format!("once at {}", format_moment(at.timestamp(), at.time_zone())),
            Self::Cron(cron) => match cron.zone().iana_name() {
                Some(zone) => format!("cron {} in {zone}", cron.text()),
                None => format!("cron {}", cron.text()),
            },
        }
    }
}

/// Formats a time in a time zone, with the offset from UTC.
pub(super) fn format_moment(moment: Timestamp, zone: &TimeZone) -> String {
    moment.to_zoned(zone.clone()).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
}
