//! Durations and their percentiles.

use std::time::{Duration, Instant};

/// The number of buckets for each power of two, and thereby the precision of a percentile.
const BUCKETS: u64 = 128;

/// The smallest power of two that is divided into buckets; below it each nanosecond has a bucket.
const FIRST_POWER: u32 = BUCKETS.ilog2();

/// Durations, counted in buckets with a width below one percent. The memory usage is constant, so that each of many
/// threads can have one.
#[derive(Clone, Debug)]
pub struct Timings {
    counts: Vec<u64>,
    total: u64,
    longest: Duration,
}

impl Default for Timings {
    fn default() -> Self {
        let buckets = bucket(u64::MAX) + 1;
        Self { counts: vec![0; buckets], total: 0, longest: Duration::ZERO }
    }
}

impl Timings {
    /// Adds a duration.
    pub fn add(&mut self, duration: Duration) {
        let nanoseconds = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        if let Some(count) = self.counts.get_mut(bucket(nanoseconds)) {
            *count += 1;
        }
        self.total += 1;
        self.longest = self.longest.max(duration);
    }

    /// Runs `work`, adds its duration, and returns its result.
    pub fn time<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let made = std::hint::black_box(work());
        self.add(start.elapsed());
        made
    }

    /// Adds all durations of another.
    pub fn merge(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        self.total += other.total;
        self.longest = self.longest.max(other.longest);
    }

    /// Returns the number of durations.
    pub fn len(&self) -> u64 {
        self.total
    }

    /// Returns whether there are no durations.
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// Returns the duration that this percentage of all durations does not exceed; zero without durations.
    pub fn percentile(&self, percent: f64) -> Duration {
        #[expect(clippy::cast_precision_loss, reason = "counts are far below 2⁵³")]
        let wanted = self.total as f64 * percent / 100.0;
        let mut below = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            below += count;
            #[expect(clippy::cast_precision_loss, reason = "counts are far below 2⁵³")]
            if *count > 0 && below as f64 >= wanted {
                return Duration::from_nanos(middle(bucket));
            }
        }
        self.longest
    }

    /// Returns the median.
    pub fn median(&self) -> Duration {
        self.percentile(50.0)
    }

    /// Returns the longest duration.
    pub fn longest(&self) -> Duration {
        self.longest
    }
}

impl Extend<Duration> for Timings {
    fn extend<I: IntoIterator<Item = Duration>>(&mut self, durations: I) {
        durations.into_iter().for_each(|duration| self.add(duration));
    }
}

impl FromIterator<Duration> for Timings {
    fn from_iter<I: IntoIterator<Item = Duration>>(durations: I) -> Self {
        let mut timings = Self::default();
        timings.extend(durations);
        timings
    }
}

/// The number of quick steps that are timed together: few enough that other programs rarely interrupt them, and enough
/// that reading the clock costs little in comparison.
const STRETCH: usize = 50;

/// Returns the time of one of many quick steps: the median over `rounds`, each of which processes all items in batches.
/// The first round is not counted.
pub fn per_item<T>(rounds: usize, items: &[T], mut work: impl FnMut(&T)) -> Duration {
    let mut timings = Timings::default();
    for round in 0..=rounds {
        for stretch in items.chunks(STRETCH) {
            let start = Instant::now();
            stretch.iter().for_each(&mut work);
            let taken = start.elapsed();
            if round > 0 {
                timings.add(taken / u32::try_from(stretch.len()).unwrap_or(u32::MAX));
            }
        }
    }
    timings.median()
}

fn bucket(nanoseconds: u64) -> usize {
    let power = nanoseconds.max(1).ilog2();
    let number = if power < FIRST_POWER {
        nanoseconds
    } else {
        let shift = power - FIRST_POWER;
        u64::from(shift) * BUCKETS + (nanoseconds >> shift)
    };
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Returns the duration in the middle of a bucket, in nanoseconds.
fn middle(bucket: usize) -> u64 {
    let number = bucket as u64;
    if number < 2 * BUCKETS {
        return number;
    }
    let shift = number / BUCKETS - 1;
    let start = (number - shift * BUCKETS) << shift;
    start + (1 << shift) / 2
}
