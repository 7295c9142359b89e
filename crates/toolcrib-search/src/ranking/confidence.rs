//! The confidence that any tool matches a query. The figures and the data they are based on are in `docs/reference/search-figures.md`.

use crate::embedding::VectorIndex;
use crate::keyword::SATURATION;
use crate::outcome::Evidence;

/// The confidence below which a search reports no match.
pub const MIN_CONFIDENCE: f32 = 0.5;

/// The confidence below which a match is weak, if the best tool also covers little of the query.
const SURE_CONFIDENCE: f32 = 0.6;

/// The coverage of the query's weighted words from which on a match is never weak.
const SURE_COVERAGE: f32 = 0.5;

/// The share of a query that an embedder must know for its similarity to count as evidence.
const MIN_COVERAGE: f32 = 0.5;

/// The number of tools that are sampled to measure the cohesion of a tool set.
const SAMPLED: usize = 64;
/// The number of nearest neighbours of each sampled tool that are examined.
const NEIGHBOURS: usize = 8;
/// The similarity from which on a neighbour counts as a duplicate of the tool, which says nothing about the other
/// tools.
const DUPLICATE: f32 = 0.9;
/// The prior of the cohesion: its usual value for a set of two tools, and the number of samples that the prior counts
/// for. A set of one tool has no neighbours to measure.
const PRIOR: (f32, f32) = (0.4, 1.0);

impl Evidence {
    /// Returns true if the evidence is barely sufficient for a match.
    pub(crate) fn is_weak(&self) -> bool {
        (MIN_CONFIDENCE..SURE_CONFIDENCE).contains(&self.confidence) && self.covered < SURE_COVERAGE
    }
}

/// A logistic regression model: the coefficient of each feature, and a constant.
struct LogisticModel {
    covered: f32,
    similarity: f32,
    /// The coefficient of the [`cohesion`] of the tool set. The similarity of an unrelated query grows with it.
    cohesion: f32,
    constant: f32,
}

/// The model for both retrievers. The constant loses 3 % of the answerable queries of the hardest labelled set.
const HYBRID_MODEL: LogisticModel =
    LogisticModel { covered: 2.9, similarity: 8.75, cohesion: -4.4, constant: -0.37 };
/// The model for the keyword retriever alone, which can only detect that hardly any word of the query is known.
const KEYWORD_MODEL: LogisticModel =
    LogisticModel { covered: 5.2, similarity: 0.0, cohesion: 0.0, constant: -0.14 };

/// Returns the cohesion of a set of tools: the mean similarity of a tool to its nearest neighbour, over a sample of
/// tools.
///
/// An unrelated query reaches about this similarity. If the tools have short descriptions or are diverse, the cohesion
/// is low, and a low similarity of a query is stronger evidence.
pub(crate) fn cohesion(index: &VectorIndex) -> f32 {
    let step = index.len().div_ceil(SAMPLED).max(1);
    let rows = (0..u32::try_from(index.len()).unwrap_or(u32::MAX)).step_by(step);
    let nearest = rows.filter_map(|row| {
        let mut vector = index.vector(row)?;
        let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
        for number in &mut vector {
            *number /= length.max(f32::MIN_POSITIVE);
        }
        let found = index.search(&vector, NEIGHBOURS, &|other| other != row);
        found.into_iter().map(|(_, similarity)| similarity).find(|similarity| *similarity < DUPLICATE)
    });
    let (usual, weight) = PRIOR;
    let (sum, count) =
        nearest.fold((usual * weight, weight), |(sum, count), similarity| (sum + similarity, count + 1.0));
    sum / count
}

/// The result of the semantic retriever for a query.
#[derive(Clone, Copy)]
pub(crate) struct SemanticEvidence {
    /// The highest similarity.
    pub similarity: f32,
    /// The share of the query that the embedder knows.
    pub coverage: f32,
    /// The [`cohesion`] of the tool set.
    pub cohesion: f32,
    /// False if the query is in another language than English.
    pub is_english: bool,
}

/// Computes the evidence for a query.
///
/// `weights` are the weights of the query terms, `covered` are the terms that the best tool contains, one bit each, and
/// `keyword` is the best score of the keyword retriever.
pub(crate) fn evidence(
    weights: &[f32],
    covered: u64,
    keyword: f32,
    near: Option<SemanticEvidence>,
    weight: f32,
) -> Evidence {
    let all = weights.iter().sum::<f32>().max(f32::MIN_POSITIVE);
    let has = (0u32..).zip(weights).filter(|(bit, _)| covered.checked_shr(*bit).unwrap_or(0) & 1 == 1);
    let (covered, keyword) =
        (has.fold(0.0, |sum, (_, weight)| sum + weight) / all, keyword / (all * (SATURATION + 1.0)));
    let (model, similarity, cohesion) = match near.filter(|near| near.coverage >= MIN_COVERAGE) {
        Some(near) => (&HYBRID_MODEL, near.similarity, near.cohesion),
        None => (&KEYWORD_MODEL, 0.0, 0.0),
    };
    let sum =
        model.covered * covered + model.similarity * similarity + model.cohesion * cohesion + model.constant;
    let confidence = 1.0 / (1.0 + (-sum).exp());
    // The words of a query in another language are those of no tool, and similarity alone does not decide that nothing
    // matches.
    let is_foreign = near.is_some_and(|near| !near.is_english && near.coverage >= MIN_COVERAGE);
    let confidence = if is_foreign { confidence.max(MIN_CONFIDENCE) } else { confidence };
    Evidence { confidence, covered, keyword, similarity: near.map(|near| near.similarity), weight }
}
