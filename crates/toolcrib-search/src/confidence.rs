//! Whether there is a tool for a query at all. The figures and the data they come from stand in `docs/search.md`.

use crate::keyword::SATURATION;
use crate::outcome::Evidence;

/// The confidence below which there is no match.
pub const MIN_CONFIDENCE: f32 = 0.5;

/// The share of a query that an embedder has to know for its likeness to say whether there is a tool.
const MIN_COVERAGE: f32 = 0.5;

/// A logistic model: what each figure of the evidence counts, and a constant.
struct Model {
    covered: f32,
    likeness: f32,
    /// For the natural logarithm of the number of tools: the more there are, the more alike is the best by chance.
    size: f32,
    constant: f32,
}

/// With vectors. The constant is where 3 % of the answerable queries of the hardest set are lost.
const BOTH: Model = Model { covered: 2.8, likeness: 8.75, size: -0.3, constant: -1.14 };
/// Of the keyword arm alone, which can only say that hardly a word is known.
const WORDS: Model = Model { covered: 5.2, likeness: 0.0, size: 0.0, constant: -0.14 };

/// The evidence of a query to so many tools.
///
/// `weights` are those of its terms, `covered` the terms that the best tool has, one bit each, `keyword` the best score
/// of the keyword arm, and `near` the best likeness with the share of the query that the embedder knows.
pub(crate) fn evidence(
    tools: usize,
    weights: &[f32],
    covered: u64,
    keyword: f32,
    near: Option<(f32, f32)>,
    weight: f32,
) -> Evidence {
    let all = weights.iter().sum::<f32>().max(f32::MIN_POSITIVE);
    let has = (0u32..).zip(weights).filter(|(bit, _)| covered.checked_shr(*bit).unwrap_or(0) & 1 == 1);
    let (covered, keyword) =
        (has.fold(0.0, |sum, (_, weight)| sum + weight) / all, keyword / (all * (SATURATION + 1.0)));
    let likeness = near.map(|(likeness, _)| likeness);
    let trusted = near.filter(|(_, coverage)| *coverage >= MIN_COVERAGE);
    let model = if trusted.is_some() { &BOTH } else { &WORDS };
    #[expect(clippy::cast_precision_loss, reason = "the logarithm of a count")]
    let size = (tools.max(1) as f32).ln();
    let sum = model.covered * covered
        + model.likeness * likeness.unwrap_or_default()
        + model.size * size
        + model.constant;
    Evidence { confidence: 1.0 / (1.0 + (-sum).exp()), covered, keyword, likeness, weight }
}
