//! Names that resemble a query, suggested when a search finds nothing ("did you mean").

use toolcrib_model::QualifiedName;

use crate::names::NameIndex;
use crate::outcome::MAX_NEAREST;
use crate::text::Word;

/// The most characters of a query and of a name that are compared.
const MAX_COMPARED_CHARS: usize = 64;

/// The similarity from which on a name precedes the search results among the suggestions.
const MIN_SIMILARITY: f64 = 0.5;

/// Returns visible names to suggest: those spelled like the query, then the rejected results of the search (`best`),
/// then those that have anything in common with the query.
pub(crate) fn suggest<'a>(
    names: &'a [QualifiedName],
    exact: &NameIndex,
    words: &[Word],
    best: impl Iterator<Item = &'a QualifiedName>,
    is_visible: impl Fn(&QualifiedName) -> bool,
) -> Vec<QualifiedName> {
    let mut pairs = Bigrams::of(words.iter().flat_map(|word| word.text.chars()).take(MAX_COMPARED_CHARS));
    let mut similarities = vec![0.0_f64; names.len()];
    for (document, text) in exact.spellings() {
        if let Some(best) = similarities.get_mut(document as usize) {
            *best = best.max(pairs.similarity(text));
        }
    }
    let mut ranked: Vec<(f64, &QualifiedName)> =
        similarities.into_iter().zip(names).filter(|(similarity, _)| *similarity > 0.0).collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    let like = ranked.partition_point(|(similarity, _)| *similarity >= MIN_SIMILARITY);
    let (like, unlike) = ranked.split_at(like);
    let mut nearest: Vec<QualifiedName> = Vec::with_capacity(MAX_NEAREST);
    for name in like.iter().map(|(_, name)| *name).chain(best).chain(unlike.iter().map(|(_, name)| *name)) {
        if nearest.len() == MAX_NEAREST {
            break;
        }
        if !nearest.contains(name) && is_visible(name) {
            nearest.push(name.clone());
        }
    }
    nearest
}

/// The character pairs of a query, each with the number of its occurrences.
struct Bigrams {
    /// The pairs, sorted, with their counts.
    counts: Vec<((char, char), u32)>,
    all: u32,
    /// The number of occurrences of each pair in the name that is compared.
    met: Vec<u32>,
    /// A filter over the pairs, by hash. Most pairs of a name do not occur in the query, and the filter rejects them
    /// cheaply.
    filter: Box<[bool; FILTER_SIZE]>,
}

/// The size of the filter.
const FILTER_SIZE: usize = 4096;

impl Bigrams {
    fn of(text: impl Iterator<Item = char>) -> Self {
        let text: Vec<char> = text.collect();
        let mut pairs: Vec<(char, char)> = pairs_of(text.iter().copied()).collect();
        pairs.sort_unstable();
        let mut filter = Box::new([false; FILTER_SIZE]);
        for pair in &pairs {
            if let Some(slot) = filter.get_mut(hash(*pair)) {
                *slot = true;
            }
        }
        let all = u32::try_from(pairs.len()).unwrap_or(u32::MAX);
        let mut counts: Vec<((char, char), u32)> = Vec::with_capacity(pairs.len());
        for pair in pairs {
            match counts.last_mut().filter(|(last, _)| *last == pair) {
                Some((_, count)) => *count += 1,
                None => counts.push((pair, 1)),
            }
        }
        Self { met: vec![0; counts.len()], counts, all, filter }
    }

    /// Returns the share of pairs that the query and the name have in common (the Sørensen–Dice coefficient).
    fn similarity(&mut self, name: &str) -> f64 {
        let (mut both, mut all) = (0_u32, self.all);
        let mut is_new = true;
        for pair in pairs_of(name.chars().take(MAX_COMPARED_CHARS)) {
            all += 1;
            if !self.filter.get(hash(pair)).is_some_and(|hash| *hash) {
                continue;
            }
            let Ok(place) = self.counts.binary_search_by_key(&pair, |(pair, _)| *pair) else { continue };
            if std::mem::take(&mut is_new) {
                self.met.fill(0);
            }
            if let Some((met, (_, count))) = self.met.get_mut(place).zip(self.counts.get(place))
                && *met < *count
            {
                *met += 1;
                both += 1;
            }
        }
        if all == 0 { 0.0 } else { f64::from(2 * both) / f64::from(all) }
    }
}

fn pairs_of(text: impl Iterator<Item = char>) -> impl Iterator<Item = (char, char)> {
    let mut previous = None;
    text.filter_map(move |c| Some((previous.replace(c)?, c)))
}

fn hash((first, second): (char, char)) -> usize {
    (u32::from(first).wrapping_mul(61) ^ u32::from(second)) as usize % FILTER_SIZE
}
