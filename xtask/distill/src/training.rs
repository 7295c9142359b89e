//! Moves the rows until the sums of texts point where the teacher says.
//!
//! Two things are asked of the vectors of a batch: that each points where the teacher's does, and that each two are as
//! like each other as the teacher's two are, which is what a ranking is made of. Steps are those of Adam (Kingma, Ba,
//! 2015), taken for the rows that the batch has.

use serde::Serialize;
use toolcrib_search::embedding::TokenId;

use crate::projection::Projection;
use crate::random::Random;
use crate::vectors::{Vectors, add, dot, normalise, share};

/// How the rows are trained.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Settings {
    pub(crate) dimension: u16,
    pub(crate) epochs: u16,
    pub(crate) batch: u16,
    /// The weight of the squared error of the likeness of two texts beside the distance from the teacher.
    pub(crate) likeness_weight: f32,
    /// The length of the first step; it falls in a straight line to zero.
    pub(crate) step: f32,
    /// How much a token counts at first, when it makes up the share `p` of the corpus: `rarity / (rarity + p)`.
    pub(crate) rarity: f32,
    pub(crate) seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            dimension: 256,
            epochs: 8,
            batch: 128,
            likeness_weight: 5.0,
            step: 0.003,
            rarity: 0.001,
            seed: 1,
        }
    }
}

/// Adam's decay of the mean step and of the mean square, and what keeps it from dividing by zero.
const MEAN_DECAY: f32 = 0.9;
const SQUARE_DECAY: f32 = 0.999;
const SMALLEST: f32 = 1e-8;

/// A text to be learnt.
#[derive(Clone, Debug)]
pub(crate) struct Lesson {
    pub(crate) tokens: Vec<TokenId>,
    /// Where the teacher says that it points, in the width of the table.
    pub(crate) target: Vec<f32>,
    /// The same in the teacher's own width.
    pub(crate) whole: Vec<f32>,
    pub(crate) held_out: bool,
}

impl Lesson {
    pub(crate) fn new(
        mut tokens: Vec<TokenId>,
        vector: &[f32],
        projection: &Projection,
        held_out: bool,
    ) -> Self {
        tokens.retain(|token| *token != TokenId::UNKNOWN);
        Self { tokens, target: projection.apply(vector), whole: vector.to_vec(), held_out }
    }
}

/// How far the table was from the teacher in an epoch, or is in the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Loss {
    /// The mean of one less the cosine.
    pub(crate) distance: f64,
    /// The mean squared error of the likeness of two texts of a batch.
    pub(crate) likeness: f64,
}

/// Trains the rows with the lessons that are not held out; the loss of each epoch.
pub(crate) fn train(
    lessons: &[Lesson],
    of_tokens: &Vectors,
    projection: &Projection,
    settings: &Settings,
) -> (Vectors, Vec<Loss>) {
    let taught: Vec<&Lesson> =
        lessons.iter().filter(|lesson| !lesson.held_out && !lesson.tokens.is_empty()).collect();
    let rows = first_rows(&taught, of_tokens, projection, settings);
    let mut trainer = Trainer::new(rows, *settings);
    let batches = taught.len().div_ceil(usize::from(settings.batch).max(1));
    let steps = batches * usize::from(settings.epochs);
    let mut order: Vec<usize> = (0..taught.len()).collect();
    let mut random = Random::new(settings.seed);
    let mut losses = Vec::new();
    let mut step = 0;
    for epoch in 1..=settings.epochs {
        random.shuffle(&mut order);
        let mut sum = Loss::default();
        for places in order.chunks(usize::from(settings.batch).max(1)) {
            let batch: Vec<&Lesson> = places.iter().filter_map(|place| taught.get(*place).copied()).collect();
            let loss = trainer.step(&batch, 1.0 - share(step, steps));
            sum.distance += loss.distance;
            sum.likeness += loss.likeness;
            step += 1;
        }
        let count = f64::from(share(batches, 1));
        let loss = Loss { distance: sum.distance / count, likeness: sum.likeness / count };
        println!("epoch {epoch}: distance {:.4}, likeness {:.5}", loss.distance, loss.likeness);
        losses.push(loss);
    }
    (trainer.rows, losses)
}

/// What the teacher says of each token by itself; common tokens count less.
fn first_rows(
    taught: &[&Lesson],
    of_tokens: &Vectors,
    projection: &Projection,
    settings: &Settings,
) -> Vectors {
    let mut uses = vec![0_usize; of_tokens.len()];
    let mut all = 0;
    for token in taught.iter().flat_map(|lesson| &lesson.tokens) {
        all += 1;
        if let Some(uses) = uses.get_mut(usize::from(token.0)) {
            *uses += 1;
        }
    }
    let mut rows = Vectors::zeros(of_tokens.len(), settings.dimension.into());
    for (place, (vector, uses)) in of_tokens.iter().zip(uses).enumerate() {
        let weight = settings.rarity / (settings.rarity + share(uses, all.max(1)));
        add(rows.get_mut(place), weight, &projection.apply(vector));
    }
    rows
}

/// The rows and what Adam keeps of each.
struct Trainer {
    rows: Vectors,
    means: Vectors,
    squares: Vectors,
    /// What is added to each row by the batch that is under way.
    slopes: Vectors,
    touched: Vec<bool>,
    settings: Settings,
    mean_bias: f32,
    square_bias: f32,
}

impl Trainer {
    fn new(rows: Vectors, settings: Settings) -> Self {
        let zeros = Vectors::zeros(rows.len(), rows.width());
        Self {
            means: zeros.clone(),
            squares: zeros.clone(),
            slopes: zeros,
            touched: vec![false; rows.len()],
            rows,
            settings,
            mean_bias: 1.0,
            square_bias: 1.0,
        }
    }

    /// One batch; `pace` is how much of the first length the step still has.
    fn step(&mut self, batch: &[&Lesson], pace: f32) -> Loss {
        let width = self.rows.width();
        let mut vectors = Vectors::zeros(batch.len(), width);
        let mut lengths = vec![0.0; batch.len()];
        for (place, (lesson, length)) in batch.iter().zip(&mut lengths).enumerate() {
            let sum = vectors.get_mut(place);
            for token in &lesson.tokens {
                add(sum, 1.0, self.rows.get(token.0.into()));
            }
            *length = normalise(sum);
        }
        let (loss, slopes) = slopes(batch, &vectors, self.settings.likeness_weight);

        for (place, lesson) in batch.iter().enumerate() {
            let (vector, length) = (vectors.get(place), lengths.get(place).copied().unwrap_or_default());
            if length <= 0.0 {
                continue;
            }
            // Only what turns the vector counts, since its length is one whatever the sum.
            let mut slope = slopes.get(place).to_vec();
            let along = dot(&slope, vector);
            add(&mut slope, -along, vector);
            for token in &lesson.tokens {
                let row = usize::from(token.0);
                add(self.slopes.get_mut(row), 1.0 / length, &slope);
                if let Some(touched) = self.touched.get_mut(row) {
                    *touched = true;
                }
            }
        }
        self.apply(pace * self.settings.step);
        loss
    }

    /// Moves the rows that were touched.
    fn apply(&mut self, step: f32) {
        self.mean_bias *= MEAN_DECAY;
        self.square_bias *= SQUARE_DECAY;
        let step = step * (1.0 - self.square_bias).sqrt() / (1.0 - self.mean_bias);
        for (row, touched) in self.touched.iter_mut().enumerate().filter(|(_, touched)| **touched) {
            *touched = false;
            let numbers = self.rows.get_mut(row).iter_mut().zip(self.slopes.get_mut(row));
            let kept = self.means.get_mut(row).iter_mut().zip(self.squares.get_mut(row));
            for ((number, slope), (mean, square)) in numbers.zip(kept) {
                *mean = MEAN_DECAY * *mean + (1.0 - MEAN_DECAY) * *slope;
                *square = SQUARE_DECAY * *square + (1.0 - SQUARE_DECAY) * *slope * *slope;
                *number -= step * *mean / (square.sqrt() + SMALLEST);
                *slope = 0.0;
            }
        }
    }
}

/// The loss of a batch, and how it changes with each number of each vector.
fn slopes(batch: &[&Lesson], vectors: &Vectors, likeness_weight: f32) -> (Loss, Vectors) {
    let mut slopes = Vectors::zeros(batch.len(), vectors.width());
    let mut loss = Loss::default();
    let each = 1.0 / share(batch.len(), 1);
    let pairs = share(batch.len() * batch.len().saturating_sub(1) / 2, 1).max(1.0);
    for (first, lesson) in batch.iter().enumerate() {
        loss.distance += f64::from(each * (1.0 - dot(vectors.get(first), &lesson.target)));
        add(slopes.get_mut(first), -each, &lesson.target);
        for (second, other) in batch.iter().enumerate().skip(first + 1) {
            let error = dot(vectors.get(first), vectors.get(second)) - dot(&lesson.whole, &other.whole);
            loss.likeness += f64::from(error * error / pairs);
            let slope = 2.0 * likeness_weight * error / pairs;
            add(slopes.get_mut(first), slope, vectors.get(second));
            add(slopes.get_mut(second), slope, vectors.get(first));
        }
    }
    (loss, slopes)
}
