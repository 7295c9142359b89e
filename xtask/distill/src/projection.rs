//! From the teacher's width to that of the table.
//!
//! The directions that are kept are those along which the teacher's vectors of the corpus are longest: the leading
//! eigenvectors of their second moments, so that products of two vectors change as little as can be.

use crate::vectors::{dot, normalise};

/// How often all pairs of directions are turned against each other; a dozen is more than it takes.
const MAX_SWEEPS: usize = 30;

/// Products of directions below this share of the whole count as none.
const PRECISION: f64 = 1e-12;

/// The directions that are kept, the longest first.
#[derive(Debug)]
pub(crate) struct Projection {
    directions: Vec<Vec<f32>>,
    kept: f64,
}

impl Projection {
    /// The best one for these vectors, which are of one width.
    pub(crate) fn of<'a>(vectors: impl Iterator<Item = &'a [f32]>, dimension: u16) -> Self {
        let moments = second_moments(vectors);
        let mut pairs = eigen(moments);
        pairs.sort_by(|one, other| other.0.total_cmp(&one.0));
        let all: f64 = pairs.iter().map(|(value, _)| value).sum();
        pairs.truncate(usize::from(dimension));
        let kept = pairs.iter().map(|(value, _)| value).sum::<f64>() / all.max(f64::MIN_POSITIVE);
        #[expect(clippy::cast_possible_truncation, reason = "directions have numbers of at most one")]
        let single = |direction: Vec<f64>| direction.into_iter().map(|number| number as f32).collect();
        Self { directions: pairs.into_iter().map(|(_, direction)| single(direction)).collect(), kept }
    }

    /// How much of the squared lengths of the vectors is kept.
    pub(crate) fn kept(&self) -> f64 {
        self.kept
    }

    /// A vector in the kept directions, of length one.
    pub(crate) fn apply(&self, vector: &[f32]) -> Vec<f32> {
        let mut projected: Vec<f32> =
            self.directions.iter().map(|direction| dot(direction, vector)).collect();
        normalise(&mut projected);
        projected
    }
}

/// The sum of the products of each two numbers of each vector.
fn second_moments<'a>(vectors: impl Iterator<Item = &'a [f32]>) -> Vec<Vec<f64>> {
    let mut moments: Vec<Vec<f64>> = Vec::new();
    for vector in vectors {
        if moments.is_empty() {
            moments = vec![vec![0.0; vector.len()]; vector.len()];
        }
        for (row, one) in moments.iter_mut().zip(vector) {
            for (sum, other) in row.iter_mut().zip(vector) {
                *sum += f64::from(*one) * f64::from(*other);
            }
        }
    }
    moments
}

/// The eigenvalues and eigenvectors of a symmetric matrix, by Jacobi's method in the order of rows: each pair of
/// directions is turned until their product is zero, again and again (Golub, Van Loan: "Matrix Computations", 8.5).
///
/// The rows are the matrix times the directions found so far: one-sided, so that only whole rows are touched.
fn eigen(matrix: Vec<Vec<f64>>) -> Vec<(f64, Vec<f64>)> {
    let width = matrix.len();
    // Turning the rows of a symmetric matrix until they are at right angles leaves each as its eigenvector, as long as
    // its eigenvalue.
    let mut rows = matrix;
    let product =
        |one: &[f64], other: &[f64]| one.iter().zip(other).map(|(one, other)| one * other).sum::<f64>();
    let whole: f64 = rows.iter().map(|row| product(row, row)).sum();
    for _ in 0..MAX_SWEEPS {
        let mut turned = false;
        for first in 0..width {
            let (before, after) = rows.split_at_mut(first + 1);
            let Some(one) = before.last_mut() else { continue };
            for other in after {
                let (alpha, beta, gamma) = (product(one, one), product(other, other), product(one, other));
                if gamma.abs() <= PRECISION * (alpha * beta).sqrt()
                    || gamma.abs() <= PRECISION * PRECISION * whole
                {
                    continue;
                }
                turned = true;
                let zeta = (beta - alpha) / (2.0 * gamma);
                let tangent = zeta.signum() / (zeta.abs() + (1.0 + zeta * zeta).sqrt());
                let cosine = 1.0 / (1.0 + tangent * tangent).sqrt();
                let sine = cosine * tangent;
                for (one, other) in one.iter_mut().zip(other.iter_mut()) {
                    (*one, *other) = (cosine * *one - sine * *other, sine * *one + cosine * *other);
                }
            }
        }
        if !turned {
            break;
        }
    }
    rows.into_iter()
        .map(|mut row| {
            let value = product(&row, &row).sqrt();
            for number in &mut row {
                *number /= value.max(f64::MIN_POSITIVE);
            }
            (value, row)
        })
        .collect()
}
