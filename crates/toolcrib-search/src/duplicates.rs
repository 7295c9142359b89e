//! Detection of tools with nearly the same description, which neither a model nor a search can tell apart.
//!
//! Two tools are compared if they share one of their rarest words, or if the vector of one is among the nearest to the
//! other's. So the number of comparisons grows with the number of tools and not with its square, except for the exact
//! scan of up to `MAX_SCANNED` vectors. Two measures decide: the weighted share of words that the tools have in
//! common, where rare words count more, and the similarity of their vectors. Without vectors the words decide alone.

use std::collections::{BTreeMap, HashMap};
use std::num::NonZero;
use std::thread;

use serde::Serialize;
use toolcrib_model::{QualifiedName, Tool};

use crate::embedding::Vectors;
use crate::text::Analyzer;
use crate::tool_text::{Field, ToolText};

/// The most vectors that are compared pairwise. Among more tools, only those that share a rare word are compared.
const MAX_SCANNED: usize = 20_000;

/// The number of rarest words by which a tool is looked up.
const RARE_TERMS: usize = 6;

/// The most tools that may share a word for it to be used as a lookup key. A more common word does not distinguish
/// tools.
const MAX_BEARERS: usize = 48;

/// The number of nearest vectors of each tool that are examined.
const NEIGHBOURS: usize = 4;

/// The most terms of one tool that are compared.
const MAX_TERMS: usize = 256;

/// The most threads that compare vectors.
const MAX_THREADS: usize = 4;

/// The share of common words from which on tools are duplicates regardless of their vectors.
const SAME_WORDS: f32 = 0.9;
/// The share of common words from which on tools are duplicates if their vectors are also [`ALIKE`].
const MANY_WORDS: f32 = 0.6;
/// The similarity required together with [`MANY_WORDS`].
const ALIKE: f32 = 0.9;
/// The similarity from which on tools are duplicates if they share [`SOME_WORDS`].
const SAME_MEANING: f32 = 0.95;
/// The share of common words required together with [`SAME_MEANING`]: the similarity of vectors alone proves nothing.
const SOME_WORDS: f32 = 0.3;

/// A group of tools that are hard to tell apart from the first one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DuplicateGroup {
    /// The names of the tools, sorted. There are at least two.
    pub names: Vec<QualifiedName>,
    /// The share of words that the most similar tool has in common with the first, from 0 to 1.
    pub words: f32,
    /// The similarity of its vector to that of the first, if both have a vector.
    pub meaning: Option<f32>,
}

/// Returns the groups of near duplicates, ordered by the name of their first tool.
///
/// A tool is in at most one group, and overloads count as one tool. `vectors` are those of the same tools; tools
/// without a vector are compared by words alone.
pub fn near_duplicates<'a>(
    tools: impl IntoIterator<Item = &'a Tool>,
    vectors: Option<&'a Vectors>,
) -> Vec<DuplicateGroup> {
    let compared = ToolComparison::new(tools, vectors);
    let mut partners: BTreeMap<u32, Vec<(u32, f32, Option<f32>)>> = BTreeMap::new();
    let mut pairs = compared.by_rare_words();
    pairs.extend(compared.by_vectors());
    pairs.sort_unstable();
    pairs.dedup();
    for (one, other) in pairs {
        let words = compared.words(one, other);
        if words < SOME_WORDS {
            continue;
        }
        let meaning = compared.meaning(one, other);
        if is_duplicate(words, meaning) {
            partners.entry(one).or_default().push((other, words, meaning));
        }
    }
    let mut taken = vec![false; compared.names.len()];
    let mut groups = Vec::new();
    for (one, partners) in partners {
        let mut is_free = |place: u32| {
            let taken = taken.get_mut(place as usize);
            taken.is_some_and(|taken| !std::mem::replace(taken, true))
        };
        if !is_free(one) {
            continue;
        }
        let partners: Vec<_> = partners.into_iter().filter(|(other, ..)| is_free(*other)).collect();
        let Some((_, words, meaning)) = partners.iter().max_by(|a, b| a.1.total_cmp(&b.1)).copied() else {
            continue;
        };
        let members = std::iter::once(one).chain(partners.iter().map(|(other, ..)| *other));
        let names = members.filter_map(|place| compared.names.get(place as usize).copied().cloned());
        groups.push(DuplicateGroup { names: names.collect(), words, meaning });
    }
    groups
}

fn is_duplicate(words: f32, meaning: Option<f32>) -> bool {
    words >= SAME_WORDS
        || meaning.is_none_or(|meaning| meaning >= ALIKE) && words >= MANY_WORDS
        || meaning.is_some_and(|meaning| meaning >= SAME_MEANING) && words >= SOME_WORDS
}

/// The data of the tools that is compared, by position in the order of their names.
struct ToolComparison<'a> {
    names: Vec<&'a QualifiedName>,
    /// The terms of each tool, as sorted numbers.
    terms: Vec<Vec<u32>>,
    /// The weight of each term.
    weights: Vec<f32>,
    /// The tools that contain each term.
    bearers: Vec<Vec<u32>>,
    /// The unit vector of each tool.
    vectors: Vec<Option<Vec<f32>>>,
    /// The vectors that are scanned, with the position of the tool of each row.
    index: Option<(&'a Vectors, Vec<Option<u32>>)>,
}

impl<'a> ToolComparison<'a> {
    fn new(tools: impl IntoIterator<Item = &'a Tool>, vectors: Option<&'a Vectors>) -> Self {
        let mut overloads: BTreeMap<&QualifiedName, ToolText<'_>> = BTreeMap::new();
        for tool in tools {
            overloads.entry(&tool.name).or_default().add(tool);
        }
        let analyzer = Analyzer::new();
        let mut numbers: HashMap<String, u32> = HashMap::new();
        let (mut names, mut terms) = (Vec::new(), Vec::new());
        let mut bearers: Vec<Vec<u32>> = Vec::new();
        for (place, (name, text)) in (0_u32..).zip(overloads) {
            let fields = [Field::Name, Field::Description, Field::Parameters];
            let found = fields.into_iter().flat_map(|field| analyzer.terms(text.get(field)));
            let mut own: Vec<u32> = Vec::new();
            for term in found {
                let new = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
                own.push(*numbers.entry(term.text).or_insert(new));
            }
            own.sort_unstable();
            own.dedup();
            own.truncate(MAX_TERMS);
            for term in &own {
                let term = *term as usize;
                if bearers.len() <= term {
                    bearers.resize(term + 1, Vec::new());
                }
                bearers.get_mut(term).into_iter().for_each(|bearers| bearers.push(place));
            }
            names.push(name);
            terms.push(own);
        }
        #[expect(clippy::cast_precision_loss, reason = "counts of tools")]
        let weight = |bearers: &Vec<u32>| (1.0 + names.len() as f32 / bearers.len().max(1) as f32).ln();
        let weights = bearers.iter().map(weight).collect();
        let unit = |name: &&QualifiedName| {
            let vector = vectors?.of(name)?;
            let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
            (length > 0.0).then(|| vector.into_iter().map(|number| number / length).collect())
        };
        let index = vectors.map(|vectors| {
            let place = |name: &QualifiedName| {
                names.binary_search(&name).ok().and_then(|place| u32::try_from(place).ok())
            };
            (vectors, vectors.names().iter().map(place).collect())
        });
        Self { vectors: names.iter().map(unit).collect(), names, terms, weights, bearers, index }
    }

    /// Returns the pairs that share one of the rarest words of the first tool.
    fn by_rare_words(&self) -> Vec<(u32, u32)> {
        let mut pairs = Vec::new();
        for (place, terms) in (0_u32..).zip(&self.terms) {
            let bearers = terms.iter().filter_map(|term| self.bearers.get(*term as usize));
            let mut rare: Vec<&Vec<u32>> =
                bearers.filter(|bearers| (2..=MAX_BEARERS).contains(&bearers.len())).collect();
            rare.sort_by_key(|bearers| bearers.len());
            let others = rare.into_iter().take(RARE_TERMS).flatten().filter(|other| **other != place);
            pairs.extend(others.map(|other| (place.min(*other), place.max(*other))));
        }
        pairs
    }

    /// Returns the pairs in which one tool is among the nearest neighbours of the other.
    fn by_vectors(&self) -> Vec<(u32, u32)> {
        let Some((vectors, places)) = self.index.as_ref().filter(|(_, places)| places.len() <= MAX_SCANNED)
        else {
            return Vec::new();
        };
        let rows: Vec<u32> = (0_u32..).take(places.len()).collect();
        let near = |row: &u32| {
            let place = |row: u32| places.get(row as usize).copied().flatten();
            let own = place(*row)?;
            let vector = self.vectors.get(own as usize)?.as_ref()?;
            let found = vectors.index().search(vector, NEIGHBOURS, &|other| other != *row);
            let others = found.into_iter().filter_map(move |(other, _)| place(other));
            Some(others.map(move |other| (own.min(other), own.max(other))).collect::<Vec<_>>())
        };
        let threads = thread::available_parallelism().map_or(1, NonZero::get).min(MAX_THREADS);
        let share = rows.len().div_ceil(threads).max(1);
        let find = |rows: &[u32]| rows.iter().filter_map(near).flatten().collect::<Vec<_>>();
        thread::scope(|scope| {
            let parts: Vec<_> = rows
                .chunks(share)
                .map(|rows| (rows, thread::Builder::new().spawn_scoped(scope, || find(rows))))
                .collect();
            let found = parts.into_iter().map(|(rows, part)| match part {
                Ok(part) => part.join().unwrap_or_default(),
                // No further thread could be started.
                Err(_) => find(rows),
            });
            found.flatten().collect()
        })
    }

    /// Returns the weighted share of words that both tools contain.
    fn words(&self, one: u32, other: u32) -> f32 {
        let of = |place: u32| self.terms.get(place as usize).map_or(&[][..], Vec::as_slice);
        let weight = |term: &u32| self.weights.get(*term as usize).copied().unwrap_or_default();
        let (one, other) = (of(one), of(other));
        let sum = |terms: &[u32]| terms.iter().map(weight).sum::<f32>();
        let shared = one.iter().filter(|term| other.binary_search(term).is_ok()).map(weight).sum::<f32>();
        let all = sum(one) + sum(other) - shared;
        if all > 0.0 { shared / all } else { 0.0 }
    }

    /// Returns the cosine of the tools' vectors.
    fn meaning(&self, one: u32, other: u32) -> Option<f32> {
        let of = |place: u32| self.vectors.get(place as usize)?.as_ref();
        Some(of(one)?.iter().zip(of(other)?).map(|(one, other)| one * other).sum())
    }
}
