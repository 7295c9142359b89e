//! One ranking of two arms.
//!
//! The scores of each arm are brought to the range from 0 to 1 among the best [`DEPTH`] tools of that arm, and added with
//! a weight of the meaning. How method and weight were chosen stands in `docs/reference/search-figures.md`.

use std::collections::HashMap;

use crate::Ranking;
use crate::keyword::Candidate;

/// How many tools of each arm are looked at.
pub(crate) const DEPTH: usize = 50;

/// The weight of the meaning for a query without terms.
const WEIGHT: f32 = 0.7;
/// How much each distinct term takes from it: the more words a query has, the better they tell tools apart.
const WEIGHT_PER_TERM: f32 = 0.02;
/// The least weight.
const MIN_WEIGHT: f32 = 0.2;
/// The least distance from the best tool to the last of the arm of meaning: where all are alike, what little sets them
/// apart is noise.
const MIN_SPREAD: f32 = 0.15;

/// What a likeness of one counts in [`Ranking::Weighted`].
const SEMANTIC_FACTOR: f32 = 10.0;
/// What a tool gets there for matching a word, and how much more the best match gets.
const KEYWORD_BOOST: (f32, f32) = (2.0, 1.0);

/// A place in one arm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Place {
    /// From 1; none behind the best [`DEPTH`].
    pub rank: Option<usize>,
    /// The score as the arm gives it.
    pub score: f32,
    /// What it counts for in the ranking, before its weight.
    pub share: f32,
}

/// A tool in the ranking of both arms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Fused {
    pub document: u32,
    pub score: f32,
    pub keyword: Option<Place>,
    pub meaning: Option<Place>,
    /// One bit for each term of the query.
    pub terms: u64,
    /// One bit for each field.
    pub fields: u8,
}

impl Fused {
    /// A tool that is not among the best of any arm.
    pub(crate) fn named(candidate: Candidate) -> Self {
        let Candidate { document, score, terms, fields } = candidate;
        let place = Place { rank: None, score, share: 0.0 };
        let keyword = (terms != 0).then_some(place);
        Self { document, score: 0.0, keyword, meaning: None, terms, fields }
    }
}

/// The weight of the meaning, of a query with so many terms of which the embedder knows so much.
pub(crate) fn weight(terms: usize, coverage: f32) -> f32 {
    let terms = f32::from(u8::try_from(terms).unwrap_or(u8::MAX));
    (WEIGHT - WEIGHT_PER_TERM * terms).max(MIN_WEIGHT) * coverage
}

/// The tools of both arms, best first, ties by number.
///
/// `keyword` are the best of the keyword arm in order, `meaning` those of the arm of meaning with their likeness, and
/// `likeness` that of each of `keyword`.
pub(crate) fn fuse(
    ranking: Ranking,
    weight: f32,
    keyword: &[Candidate],
    meaning: &[(u32, f32)],
    likeness: &[Option<f32>],
) -> Vec<Fused> {
    let best = keyword.first().map_or(0.0, |candidate| candidate.score);
    // The last of the best tools: where fewer match, it is one that does not.
    let last = keyword.last().filter(|_| keyword.len() >= DEPTH).map_or(0.0, |candidate| candidate.score);
    let scale = Scale::new(ranking, best, last, meaning);
    let mut fused: Vec<Fused> = Vec::with_capacity(keyword.len() + meaning.len());
    let mut places: HashMap<u32, usize> = HashMap::with_capacity(keyword.len());
    for ((rank, candidate), likeness) in
        (1..).zip(keyword).zip(likeness.iter().copied().chain(std::iter::repeat(None)))
    {
        places.insert(candidate.document, fused.len());
        let share = scale.of_keyword(candidate.score);
        fused.push(Fused {
            document: candidate.document,
            score: 0.0,
            keyword: Some(Place { rank: Some(rank), score: candidate.score, share }),
            meaning: likeness.map(|score| Place { rank: None, score, share: scale.of_meaning(score) }),
            terms: candidate.terms,
            fields: candidate.fields,
        });
    }
    for (rank, (document, score)) in (1..).zip(meaning) {
        let place = Place { rank: Some(rank), score: *score, share: scale.of_meaning(*score) };
        if let Some(known) = places.get(document).and_then(|at| fused.get_mut(*at)) {
            known.meaning = Some(place);
        } else {
            let none = Candidate { document: *document, score: 0.0, terms: 0, fields: 0 };
            fused.push(Fused { meaning: Some(place), ..Fused::named(none) });
        }
    }
    for one in &mut fused {
        let share = |place: Option<Place>| place.map_or(0.0, |place| place.share);
        one.score = match ranking {
            Ranking::Fused => (1.0 - weight) * share(one.keyword) + weight * share(one.meaning),
            Ranking::Weighted => share(one.keyword) + share(one.meaning),
        };
    }
    fused.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.document.cmp(&b.document)));
    fused
}

/// What the scores of each arm count for.
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
