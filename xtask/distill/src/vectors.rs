//! Many vectors of one width, and the little arithmetic that is done with them.
//!
//! Sums are made in a fixed order, so that the same numbers give the same bits.

/// How many sums run side by side in a product of two vectors; as many as two registers of a usual processor hold.
const LANES: usize = 16;

/// Vectors of one width.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Vectors {
    width: usize,
    numbers: Vec<f32>,
}

impl Vectors {
    /// So many vectors of zeros.
    pub(crate) fn zeros(count: usize, width: usize) -> Self {
        Self { width, numbers: vec![0.0; count * width] }
    }

    pub(crate) fn width(&self) -> usize {
        self.width
    }

    pub(crate) fn len(&self) -> usize {
        self.numbers.len() / self.width
    }

    pub(crate) fn get(&self, place: usize) -> &[f32] {
        self.numbers.get(place * self.width..(place + 1) * self.width).unwrap_or_default()
    }

    pub(crate) fn get_mut(&mut self, place: usize) -> &mut [f32] {
        self.numbers.get_mut(place * self.width..(place + 1) * self.width).unwrap_or_default()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[f32]> {
        self.numbers.chunks_exact(self.width)
    }
}

/// The product of two vectors.
pub(crate) fn dot(one: &[f32], other: &[f32]) -> f32 {
    let mut sums = [0.0_f32; LANES];
    let (ones, others) = (one.chunks_exact(LANES), other.chunks_exact(LANES));
    let rest: f32 = ones.remainder().iter().zip(others.remainder()).map(|(one, other)| one * other).sum();
    for (one, other) in ones.zip(others) {
        for ((sum, one), other) in sums.iter_mut().zip(one).zip(other) {
            *sum += one * other;
        }
    }
    sums.iter().sum::<f32>() + rest
}

/// Adds `factor` times a vector.
pub(crate) fn add(sum: &mut [f32], factor: f32, vector: &[f32]) {
    for (sum, number) in sum.iter_mut().zip(vector) {
        *sum += factor * number;
    }
}

/// Brings a vector to length one, unless it is zero, and returns the length that it had.
pub(crate) fn normalise(vector: &mut [f32]) -> f32 {
    let length = dot(vector, vector).sqrt();
    if length > 0.0 {
        for number in vector {
            *number /= length;
        }
    }
    length
}

/// A share of two counts.
#[expect(clippy::cast_precision_loss, reason = "counts of texts are far below what an f32 holds")]
pub(crate) fn share(part: usize, whole: usize) -> f32 {
    part as f32 / whole as f32
}
