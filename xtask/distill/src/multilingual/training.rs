//! Moves the rows until the sum of the rows of a text points where the English table says that its translation points.
//!
//! Steps are those of `AdaGrad` (Duchi, Hazan, Singer, 2011), with one mean square for a whole row.

use serde::Serialize;

use crate::random::Random;
use crate::vectors::{Vectors, add, dot, normalise, share};

/// How the rows are trained.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Settings {
    pub(crate) epochs: u16,
    /// The length of the first step.
    pub(crate) step: f32,
    /// What the last step has of it; it falls in a straight line.
    pub(crate) last_step: f32,
    /// How much of the mean of all targets each row has at first.
    pub(crate) mean_share: f32,
    pub(crate) seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { epochs: 6, step: 0.02, last_step: 0.05, mean_share: 0.1, seed: 1 }
    }
}

/// The mean square of a row before its first step, and the shortest sum that a step is divided by.
const FIRST_SQUARE: f32 = 1e-3;
const SHORTEST: f32 = 1e-6;

/// A text to be learnt.
#[derive(Clone, Debug)]
pub(crate) struct Lesson {
    /// The rows of its pieces.
    pub(crate) pieces: Vec<u16>,
    /// The number of its translation among the targets.
    pub(crate) target: usize,
    pub(crate) weight: f32,
}

/// Trains so many rows; the mean distance from the targets in each epoch. A row that no text has is zero.
pub(crate) fn train(
    lessons: &[&Lesson],
    targets: &Vectors,
    count: usize,
    settings: &Settings,
) -> (Vectors, Vec<f64>) {
    let mut trainer = Trainer {
        rows: first_rows(lessons, targets, count, settings.mean_share),
        squares: vec![FIRST_SQUARE; count],
        sum: vec![0.0; targets.width()],
    };
    let mut order: Vec<usize> = (0..lessons.len()).collect();
    let mut random = Random::new(settings.seed);
    let (mut step, steps) = (0, usize::from(settings.epochs) * lessons.len());
    let mut losses = Vec::new();
    for epoch in 1..=settings.epochs {
        random.shuffle(&mut order);
        let (mut sum, mut weight) = (0.0, 0.0);
        for lesson in order.iter().filter_map(|place| lessons.get(*place)) {
            let length = settings.step * (1.0 - (1.0 - settings.last_step) * share(step, steps));
            sum += f64::from(lesson.weight * trainer.step(lesson, targets.get(lesson.target), length));
            weight += f64::from(lesson.weight);
            step += 1;
        }
        println!("epoch {epoch}: distance {:.4}", sum / weight);
        losses.push(sum / weight);
    }
    (trainer.rows, losses)
}

/// Returns the sum of the rows of a text.
pub(crate) fn sum_of(lesson: &Lesson, rows: &Vectors) -> Vec<f32> {
    let mut sum = vec![0.0; rows.width()];
    for piece in &lesson.pieces {
        add(&mut sum, 1.0, rows.get((*piece).into()));
    }
    sum
}

/// Returns what the targets of the texts with a piece have in common; common pieces count less.
fn first_rows(lessons: &[&Lesson], targets: &Vectors, count: usize, mean_share: f32) -> Vectors {
    let mut mean = vec![0.0; targets.width()];
    let all: f32 = lessons.iter().map(|lesson| lesson.weight).sum();
    for lesson in lessons {
        add(&mut mean, lesson.weight / all, targets.get(lesson.target));
    }
    let mut rows = Vectors::zeros(count, targets.width());
    let (mut uses, mut weights) = (vec![0_usize; count], vec![0.0_f32; count]);
    for lesson in lessons {
        let mut target = targets.get(lesson.target).to_vec();
        add(&mut target, -1.0, &mean);
        let weight = lesson.weight / share(lesson.pieces.len(), 1).sqrt();
        for piece in lesson.pieces.iter().map(|piece| usize::from(*piece)) {
            add(rows.get_mut(piece), weight, &target);
            if let (Some(uses), Some(sum)) = (uses.get_mut(piece), weights.get_mut(piece)) {
                *uses += 1;
                *sum += weight;
            }
        }
    }
    let rarities: Vec<f32> = uses.iter().map(|uses| share(lessons.len(), uses + 1).ln()).collect();
    let usual = rarities.iter().sum::<f32>() / share(count, 1);
    for (row, ((rarity, weight), uses)) in rarities.iter().zip(weights).zip(uses).enumerate() {
        let row = rows.get_mut(row);
        for number in row.iter_mut() {
            *number *= rarity / usual / (weight + 1.0);
        }
        if uses > 0 {
            add(row, mean_share, &mean);
        }
    }
    rows
}

/// The rows and what `AdaGrad` keeps of each.
struct Trainer {
    rows: Vectors,
    squares: Vec<f32>,
    /// The sum of the text under way.
    sum: Vec<f32>,
}

impl Trainer {
    /// Moves the rows of a text towards its target; returns how far it was: one less the cosine.
    fn step(&mut self, lesson: &Lesson, target: &[f32], length: f32) -> f32 {
        self.sum.fill(0.0);
        for piece in &lesson.pieces {
            add(&mut self.sum, 1.0, self.rows.get((*piece).into()));
        }
        let sum_length = normalise(&mut self.sum).max(SHORTEST);
        let cosine = dot(&self.sum, target);
        // Only what turns the sum counts.
        for (sum, target) in self.sum.iter_mut().zip(target) {
            *sum = lesson.weight / sum_length * (target - *sum * cosine);
        }
        let square = dot(&self.sum, &self.sum) / share(self.sum.len(), 1);
        for piece in lesson.pieces.iter().map(|piece| usize::from(*piece)) {
            if let Some(squares) = self.squares.get_mut(piece) {
                *squares += square;
                add(self.rows.get_mut(piece), length / squares.sqrt(), &self.sum);
            }
        }
        1.0 - cosine
    }
}
