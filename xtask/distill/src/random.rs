//! Random numbers that are the same on every machine: `SplitMix64` (Steele, Lea, Flood, 2014).

pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below a bound.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        // The remainder of a number of 64 bits is as good as even.
        let bound = u64::try_from(bound.max(1)).unwrap_or(u64::MAX);
        usize::try_from(self.next() % bound).unwrap_or_default()
    }

    /// Puts places into a random order (Fisher, Yates).
    pub(crate) fn shuffle(&mut self, places: &mut [usize]) {
        for last in (1..places.len()).rev() {
            let other = self.below(last + 1);
            places.swap(last, other);
        }
    }
}
