//! The confidence that any tool matches a query. The figures and the data they are based on are in `docs/reference/search-figures.md`.

use crate::keyword::SATURATION;
use crate::limits::MIN_CONFIDENCE;
use crate::outcome::Evidence;
use crate::ranking::background::Background;

/// The confidence below which a match is weak.
const SURE_CONFIDENCE: f32 = 0.6;

/// The share of a query that an embedder must know for its similarity to count as evidence.
const MIN_COVERAGE: f32 = 0.5;

impl Evidence {
    /// Returns true if a match may well not fit.
    pub(crate) fn is_weak(&self) -> bool {
        self.confidence < SURE_CONFIDENCE
    }
}

/// A logistic regression model: the coefficient of each feature, and a constant.
struct LogisticModel {
    covered: f32,
    /// The coefficient of the [excess](Background::excess) of the similarity.
    excess: f32,
    constant: f32,
}

/// The model for both retrievers. The coefficients are rounded; with any kind of tool set left out, the fitted ones are
/// within a tenth (`excess`) and a third (`covered`) of their mean.
const HYBRID_MODEL: LogisticModel = LogisticModel { covered: 3.0, excess: 1.5, constant: -3.4 };
/// The model for the keyword retriever alone. It is never below [`MIN_CONFIDENCE`], because a request in other words or
/// in another language is no evidence against the tools.
const KEYWORD_MODEL: LogisticModel = LogisticModel { covered: 6.0, excess: 0.0, constant: -0.2 };

/// The result of the semantic retriever for a query.
#[derive(Clone, Copy)]
pub(crate) struct SemanticEvidence {
    /// The highest similarity.
    pub similarity: f32,
    /// The share of the query that the embedder knows.
    pub coverage: f32,
    /// The background of the tool set. `None` if the embedder does not know what it is measured with.
    pub background: Option<Background>,
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
    let known = near.filter(|near| near.coverage >= MIN_COVERAGE);
    let (model, excess) = match known.and_then(|near| Some(near.background?.excess(near.similarity))) {
        Some(excess) => (&HYBRID_MODEL, excess),
        None => (&KEYWORD_MODEL, 0.0),
    };
    let sum = model.covered * covered + model.excess * excess + model.constant;
    let confidence = 1.0 / (1.0 + (-sum).exp());
    // The words of a query in another language are those of no tool, and similarity alone does not decide that nothing
    // matches.
    let is_foreign = near.is_some_and(|near| !near.is_english && near.coverage >= MIN_COVERAGE);
    let confidence = if is_foreign { confidence.max(MIN_CONFIDENCE) } else { confidence };
    Evidence { confidence, covered, keyword, similarity: near.map(|near| near.similarity), weight }
}
