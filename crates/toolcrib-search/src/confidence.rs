//! Whether there is a tool for a query at all. The figures and the data they come from stand in `docs/reference/search-figures.md`.

use crate::embedding::VectorIndex;
use crate::keyword::SATURATION;
use crate::outcome::Evidence;

/// The confidence below which there is no match.
pub const MIN_CONFIDENCE: f32 = 0.5;

/// The confidence below which a match is weak where the best tool has little of the query.
pub const SURE_CONFIDENCE: f32 = 0.6;

/// The share of what the words of a query weigh from which on the best tool has enough of it.
const SURE_COVERAGE: f32 = 0.5;

/// The share of a query that an embedder has to know for its likeness to say whether there is a tool.
const MIN_COVERAGE: f32 = 0.5;

/// How many tools are asked for to see how alike the tools are.
const SAMPLED: usize = 64;
/// How many of the nearest of such a tool are looked at.
const NEIGHBOURS: usize = 8;
/// The likeness from which on a tool is taken for the same tool again, which says nothing of the others.
const SAME: f32 = 0.9;
/// How alike the tools of a set of two usually are, which counts as so many tools that were asked for: a set of one has
/// none that could be.
const USUAL: (f32, f32) = (0.4, 1.0);

impl Evidence {
    /// Returns true if it speaks for some tool, but hardly.
    pub(crate) fn is_weak(&self) -> bool {
        (MIN_CONFIDENCE..SURE_CONFIDENCE).contains(&self.confidence) && self.covered < SURE_COVERAGE
    }
}

/// A logistic model: what each figure of the evidence counts, and a constant.
struct Model {
    covered: f32,
    likeness: f32,
    /// For how [`alike`] the tools are, which is what the likeness of a request for something else grows with.
    alike: f32,
    constant: f32,
}

/// With vectors. The constant is where 3 % of the answerable queries of the hardest set are lost.
const BOTH: Model = Model { covered: 2.9, likeness: 8.75, alike: -4.4, constant: -0.37 };
/// Of the keyword arm alone, which can only say that hardly a word is known.
const WORDS: Model = Model { covered: 5.2, likeness: 0.0, alike: 0.0, constant: -0.14 };

/// How alike the tools of a set are to each other: the mean likeness of a tool to the one that is most like it, over
/// some tools spread over all. It is what a request for something else comes to in this set: where tools say little
/// of themselves, or are of many kinds, it is small, and a small likeness of a query then says more.
pub(crate) fn alike(index: &VectorIndex) -> f32 {
    let step = index.len().div_ceil(SAMPLED).max(1);
    let rows = (0..u32::try_from(index.len()).unwrap_or(u32::MAX)).step_by(step);
    let nearest = rows.filter_map(|row| {
        let mut vector = index.vector(row)?;
        let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
        for number in &mut vector {
            *number /= length.max(f32::MIN_POSITIVE);
        }
        let found = index.search(&vector, NEIGHBOURS, &|other| other != row);
        found.into_iter().map(|(_, likeness)| likeness).find(|likeness| *likeness < SAME)
    });
    let (usual, weight) = USUAL;
    let (sum, count) =
        nearest.fold((usual * weight, weight), |(sum, count), likeness| (sum + likeness, count + 1.0));
    sum / count
}

/// What the arm of meaning makes of a query.
#[derive(Clone, Copy)]
pub(crate) struct Near {
    /// The best likeness.
    pub likeness: f32,
    /// The share of the query that the embedder knows.
    pub coverage: f32,
    /// How [`alike`] the tools are.
    pub alike: f32,
}

/// The evidence of a query.
///
/// `weights` are those of its terms, `covered` the terms that the best tool has, one bit each, and `keyword` the best
/// score of the keyword arm.
pub(crate) fn evidence(
    weights: &[f32],
    covered: u64,
    keyword: f32,
    near: Option<Near>,
    weight: f32,
) -> Evidence {
    let all = weights.iter().sum::<f32>().max(f32::MIN_POSITIVE);
    let has = (0u32..).zip(weights).filter(|(bit, _)| covered.checked_shr(*bit).unwrap_or(0) & 1 == 1);
    let (covered, keyword) =
        (has.fold(0.0, |sum, (_, weight)| sum + weight) / all, keyword / (all * (SATURATION + 1.0)));
    let (model, likeness, alike) = match near.filter(|near| near.coverage >= MIN_COVERAGE) {
        Some(near) => (&BOTH, near.likeness, near.alike),
        None => (&WORDS, 0.0, 0.0),
    };
    let sum = model.covered * covered + model.likeness * likeness + model.alike * alike + model.constant;
    let likeness = near.map(|near| near.likeness);
    Evidence { confidence: 1.0 / (1.0 + (-sum).exp()), covered, keyword, likeness, weight }
}
