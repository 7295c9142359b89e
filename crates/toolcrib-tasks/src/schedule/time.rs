//! When a schedule runs.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, Zoned};

use crate::Cron;

/// How many runs are counted as missed at once; of more it is said that they are so many.
pub(super) const MAX_COUNTED: u64 = 10_000;

/// The shortest time between two runs of a pattern.
pub const MIN_CRON_INTERVAL: SignedDuration = SignedDuration::from_secs(5);

/// When a schedule runs.
#[derive(Clone, Debug)]
pub enum ScheduleTime {
    /// At one moment.
    Once(Zoned),
    /// At all moments of a pattern.
    Cron(Box<Cron>),
}

impl ScheduleTime {
    /// The first moment that comes behind this one.
    pub(super) fn after(&self, moment: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Once(at) => Some(at.timestamp()).filter(|at| *at > moment),
            Self::Cron(cron) => cron.next_after(moment),
        }
    }

    /// The last moment that is not behind `now`, where `first` is one that is not, and how many there are from that one on,
    /// both counted; [`MAX_COUNTED`] where there are more.
    pub(super) fn latest(&self, first: Timestamp, now: Timestamp) -> (Timestamp, u64) {
        let passed = |moment: Timestamp| self.after(moment).filter(|next| *next <= now);
        let (mut latest, mut count) = (first, 1);
        while count < MAX_COUNTED {
            match passed(latest) {
                Some(next) => (latest, count) = (next, count + 1),
                None => return (latest, count),
            }
        }
        // Of two moments the later is followed by none that comes sooner, so halving the time finds the last.
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

    /// Up to so many moments from `first` on.
    pub(super) fn from(&self, first: Option<Timestamp>, count: usize) -> Vec<Timestamp> {
        std::iter::successors(first, |moment| self.after(*moment)).take(count).collect()
    }

    /// The time between the two runs that follow each other first, where that is less than may be.
    pub(super) fn too_short(&self, now: Timestamp) -> Option<SignedDuration> {
        // As many as there are seconds in a minute, so that each pair of them has been seen.
        const LOOKED_AT: usize = 61;
        let moments = self.from(self.after(now), LOOKED_AT);
        let pairs = moments.iter().zip(moments.iter().skip(1));
        pairs.map(|(one, other)| other.duration_since(*one)).find(|time| *time < MIN_CRON_INTERVAL)
    }

    pub(super) fn zone(&self) -> &TimeZone {
        match self {
            Self::Once(at) => at.time_zone(),
            Self::Cron(cron) => cron.zone(),
        }
    }

    /// As people and models read it.
    pub(super) fn described(&self) -> String {
        match self {
            Self::Once(at) => format!("once at {}", shown(at.timestamp(), at.time_zone())),
            Self::Cron(cron) => match cron.zone().iana_name() {
                Some(zone) => format!("cron {} in {zone}", cron.text()),
                None => format!("cron {}", cron.text()),
            },
        }
    }
}

/// A moment as the clocks of a zone show it, with its distance to UTC.
pub(super) fn shown(moment: Timestamp, zone: &TimeZone) -> String {
    moment.to_zoned(zone.clone()).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
}
