//! Random choices that depend on a seed alone.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore as _, SeedableRng as _};

/// A generator of random choices. Equal seeds give equal choices, on every machine and with every version of this
/// crate's dependencies: the stream of `ChaCha8` is fixed, and the choices are computed here, since distributions of
/// `rand` may change between its versions.
#[derive(Clone, Debug)]
pub struct Random(ChaCha8Rng);

impl Random {
    /// Creates a generator.
    pub fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// Returns the seed of a part of a run, such as one conversation of a data set or one stage of a conversation.
    ///
    /// ```
    /// use toolcrib_datagen::seed::Random;
    ///
    /// assert_eq!(Random::derive(7, 3), Random::derive(7, 3));
    /// assert_ne!(Random::derive(7, 3), Random::derive(7, 4));
    /// ```
    pub fn derive(seed: u64, part: u64) -> u64 {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(part);
        random.next_u64()
    }

    /// Returns a number below a bound; 0 if the bound is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        let bound = bound as u64;
        if bound == 0 {
            return 0;
        }
        // Numbers of the incomplete last multiple are drawn again, so that each result is equally likely.
        let limit = u64::MAX - u64::MAX % bound;
        loop {
            let number = self.0.next_u64();
            if number < limit {
                #[expect(clippy::cast_possible_truncation, reason = "it is below a usize")]
                return (number % bound) as usize;
            }
        }
    }

    /// Returns a number from 0 to 1, without 1.
    pub fn unit(&mut self) -> f64 {
        unit(self.0.next_u64())
    }

    /// Returns true with a probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// Returns one of the items; `None` without items.
    pub fn choose<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.below(items.len()))
    }

    /// Returns an index with a probability proportional to its weight; `None` if no weight is positive. Weights that
    /// are negative or not finite count as 0.
    pub fn weighted(&mut self, weights: &[f64]) -> Option<usize> {
        weighted_at(self.0.next_u64(), weights)
    }

    /// Returns `count` different numbers below a bound, in random order; all of them if there are fewer.
    pub fn distinct(&mut self, count: usize, bound: usize) -> Vec<usize> {
        let count = count.min(bound);
        // Floyd's algorithm: it needs no list of all numbers.
        let mut chosen = Vec::with_capacity(count);
        let mut seen = std::collections::HashSet::with_capacity(count);
        for limit in bound - count..bound {
            let number = self.below(limit + 1);
            let number = if seen.insert(number) { number } else { limit };
            seen.insert(number);
            chosen.push(number);
        }
        self.shuffle(&mut chosen);
        chosen
    }

    /// Brings the items into a random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for index in (1..items.len()).rev() {
            let other = self.below(index + 1);
            items.swap(index, other);
        }
    }
}

/// Returns a number of 64 bits as a number from 0 to 1, without 1.
fn unit(number: u64) -> f64 {
    /// The bits of the fraction of an `f64`.
    const BITS: u32 = 53;
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    let number = (number >> (u64::BITS - BITS)) as f64;
    number / 2_f64.powi(53)
}

/// Returns the index whose share of the weights, laid end to end from 0 to 2^64, has this place in it; `None` if no
/// weight is positive. Weights that are negative or not finite count as 0.
pub(crate) fn weighted_at(place: u64, weights: &[f64]) -> Option<usize> {
    let weight = |weight: &f64| if weight.is_finite() { weight.max(0.0) } else { 0.0 };
    let total: f64 = weights.iter().map(weight).sum();
    if total <= 0.0 {
        return None;
    }
    let mut left = unit(place) * total;
    let mut last = None;
    for (index, weight) in weights.iter().map(weight).enumerate() {
        if weight > 0.0 {
            last = Some(index);
            if left < weight {
                return last;
            }
            left -= weight;
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn equal_seeds_give_equal_choices() {
        let choices = |seed| {
            let mut random = Random::new(seed);
            (
                random.below(1000),
                random.distinct(5, 100),
                random.weighted(&[1.0, 2.0, 3.0]),
                random.unit().to_bits(),
            )
        };
        assert_eq!(choices(1), choices(1));
        assert_ne!(choices(1), choices(2));
    }

    #[test]
    fn the_stream_of_a_seed_is_fixed() {
        let mut random = Random::new(42);
        let numbers: Vec<usize> = (0..6).map(|_| random.below(1000)).collect();
        insta::assert_snapshot!(format!("{numbers:?}"), @"[737, 312, 20, 866, 744, 838]");
    }

    #[test]
    fn distinct_numbers_are_distinct_and_below_the_bound() {
        let mut random = Random::new(7);
        for bound in 0..40 {
            for count in 0..45 {
                let mut numbers = random.distinct(count, bound);
                assert_eq!(numbers.len(), count.min(bound));
                numbers.sort_unstable();
                numbers.dedup();
                assert_eq!(numbers.len(), count.min(bound));
                assert!(numbers.iter().all(|number| *number < bound));
            }
        }
    }

    #[test]
    fn weights_decide_how_often_an_index_is_chosen() {
        let mut random = Random::new(3);
        let mut counts = [0; 4];
        for _ in 0..10_000 {
            counts[random.weighted(&[1.0, 0.0, 3.0, f64::NAN]).unwrap()] += 1;
        }
        assert_eq!((counts[1], counts[3]), (0, 0));
        assert!((2_300..2_700).contains(&counts[0]), "{counts:?}");
        assert_eq!(random.weighted(&[0.0, -1.0]), None);
    }
}
