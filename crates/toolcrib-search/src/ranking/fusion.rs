//! Fusion of the results of both retrievers into one ranking.
//!
//! The scores of each retriever are normalized to the range from 0 to 1 among its best [`DEPTH`] tools, and added with
//! a semantic weight. `docs/reference/search-figures.md` describes how the method and the weight were chosen.

use std::collections::HashMap;

use crate::Ranking;
use crate::keyword::Candidate;

/// The number of tools of each retriever that are considered.
pub(crate) const DEPTH: usize = 50;

/// The semantic weight for a query without terms.
const WEIGHT: f32 = 0.7;
/// The amount by which each distinct term lowers the weight: the more words a query has, the better they distinguish
/// tools.
const WEIGHT_PER_TERM: f32 = 0.02;
/// The lowest weight.
const MIN_WEIGHT: f32 = 0.2;
/// The weight for a query in another language than English, in which words match by chance or name a thing.
const OTHER_LANGUAGE_WEIGHT: f32 = 0.8;
/// The minimum range between the first and the last similarity. If all tools are similar, small differences are noise.
const MIN_SPREAD: f32 = 0.15;

/// The factor of the similarity in [`Ranking::Weighted`].
const SEMANTIC_FACTOR: f32 = 10.0;
/// The boost of a keyword match in [`Ranking::Weighted`], and the additional boost of the best match.
const KEYWORD_BOOST: (f32, f32) = (2.0, 1.0);

/// The position and score of a tool in the results of one retriever.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RetrieverHit {
    /// The rank, from 1. `None` if the tool is not among the best [`DEPTH`].
    pub rank: Option<usize>,
    /// The score that the retriever gives.
    pub score: f32,
    /// The normalized score, before it is weighted.
    pub share: f32,
}

/// A tool in the combined ranking.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FusedHit {
    pub document: u32,
    pub score: f32,
    pub keyword: Option<RetrieverHit>,
    pub meaning: Option<RetrieverHit>,
    /// The matched terms of the query, one bit each.
    pub terms: u64,
    /// The matched fields, one bit each.
    pub fields: u8,
}

impl FusedHit {
    /// Creates the entry of a tool that is not among the best of either retriever.
    pub(crate) fn named(candidate: Candidate) -> Self {
        let Candidate { document, score, terms, fields } = candidate;
        let place = RetrieverHit { rank: None, score, share: 0.0 };
        let keyword = (terms != 0).then_some(place);
        Self { document, score: 0.0, keyword, meaning: None, terms, fields }
    }
}

/// Returns the semantic weight for a query with this many terms, of which the embedder knows the share `coverage`.
///
/// The number of terms says nothing about a query that is not English.
pub(crate) fn weight(terms: usize, coverage: f32, is_english: bool) -> f32 {
    if !is_english {
        return OTHER_LANGUAGE_WEIGHT * coverage;
    }
    let terms = f32::from(u8::try_from(terms).unwrap_or(u8::MAX));
    (WEIGHT - WEIGHT_PER_TERM * terms).max(MIN_WEIGHT) * coverage
}

/// Combines the results of both retrievers, best first. Ties are broken by document number.
///
/// `keyword` has the best keyword results in order, `meaning` the best semantic results with their similarity, and
/// `similarity` the similarity of each tool in `keyword`.
pub(crate) fn fuse(
    ranking: Ranking,
    weight: f32,
    keyword: &[Candidate],
    meaning: &[(u32, f32)],
    similarity: &[Option<f32>],
) -> Vec<FusedHit> {
    let best = keyword.first().map_or(0.0, |candidate| candidate.score);
    // The score of the last tool, or 0 if fewer than `DEPTH` tools match.
    let last = keyword.last().filter(|_| keyword.len() >= DEPTH).map_or(0.0, |candidate| candidate.score);
    let scale = Scale::new(ranking, best, last, meaning);
    let mut fused: Vec<FusedHit> = Vec::with_capacity(keyword.len() + meaning.len());
    let mut places: HashMap<u32, usize> = HashMap::with_capacity(keyword.len());
    for ((rank, candidate), similarity) in
        (1..).zip(keyword).zip(similarity.iter().copied().chain(std::iter::repeat(None)))
    {
        places.insert(candidate.document, fused.len());
        let share = scale.of_keyword(candidate.score);
        fused.push(FusedHit {
            document: candidate.document,
            score: 0.0,
            keyword: Some(RetrieverHit { rank: Some(rank), score: candidate.score, share }),
            meaning: similarity.map(|score| RetrieverHit {
                rank: None,
                score,
                share: scale.of_meaning(score),
            }),
            terms: candidate.terms,
            fields: candidate.fields,
        });
    }
    for (rank, (document, score)) in (1..).zip(meaning) {
        let place = RetrieverHit { rank: Some(rank), score: *score, share: scale.of_meaning(*score) };
        if let Some(known) = places.get(document).and_then(|at| fused.get_mut(*at)) {
            known.meaning = Some(place);
        } else {
            let none = Candidate { document: *document, score: 0.0, terms: 0, fields: 0 };
            fused.push(FusedHit { meaning: Some(place), ..FusedHit::named(none) });
        }
    }
    for one in &mut fused {
        let share = |place: Option<RetrieverHit>| place.map_or(0.0, |place| place.share);
        one.score = match ranking {
            Ranking::Fused => (1.0 - weight) * share(one.keyword) + weight * share(one.meaning),
            Ranking::Weighted => share(one.keyword) + share(one.meaning),
        };
    }
    fused.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.document.cmp(&b.document)));
    fused
}

/// The normalization of the scores of each retriever.
struct Scale {
    ranking: Ranking,
    keyword: (f32, f32),
    meaning: (f32, f32),
}

impl Scale {
    fn new(ranking: Ranking, best: f32, last: f32, meaning: &[(u32, f32)]) -> Self {
        let top = meaning.first().map_or(0.0, |(_, score)| *score);
        let bottom = meaning.last().map_or(0.0, |(_, score)| *score);
        Self { ranking, keyword: (last, best - last), meaning: (bottom, (top - bottom).max(MIN_SPREAD)) }
    }

    fn of_keyword(&self, score: f32) -> f32 {
        let (last, range) = self.keyword;
        let share = if range > 0.0 { (score - last) / range } else { 1.0 };
        match self.ranking {
            Ranking::Fused => share,
            Ranking::Weighted => KEYWORD_BOOST.0 + KEYWORD_BOOST.1 * share,
        }
    }

    fn of_meaning(&self, score: f32) -> f32 {
        let (last, range) = self.meaning;
        match self.ranking {
            Ranking::Fused => ((score - last) / range).max(0.0),
            Ranking::Weighted => SEMANTIC_FACTOR * score.max(0.0),
        }
    }
}
