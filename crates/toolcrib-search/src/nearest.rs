//! Names that resemble a query, suggested when a search finds nothing ("did you mean").

use toolcrib_model::QualifiedName;

use crate::MAX_NEAREST;
use crate::names::Names;
use crate::text::Word;

/// The most characters of a query and of a name that are compared.
const MAX_COMPARED_CHARS: usize = 64;

/// The similarity from which on a name precedes the search results among the suggestions.
const MIN_LIKENESS: f64 = 0.5;

/// Returns visible names to suggest: those spelled like the query, then the rejected results of the search (`best`),
/// then those that have anything in common with the query.
pub(crate) fn nearest<'a>(
    names: &'a [QualifiedName],
    exact: &Names,
    words: &[Word],
    best: impl Iterator<Item = &'a QualifiedName>,
    is_visible: impl Fn(&QualifiedName) -> bool,
) -> Vec<QualifiedName> {
    let mut pairs = Pairs::of(words.iter().flat_map(|word| word.text.chars()).take(MAX_COMPARED_CHARS));
    let mut likenesses = vec![0.0_f64; names.len()];
    for (document, text) in exact.spellings() {
        if let Some(best) = likenesses.get_mut(document as usize) {
            *best = best.max(pairs.likeness(text));
        }
    }
    let mut ranked: Vec<(f64, &QualifiedName)> =
        likenesses.into_iter().zip(names).filter(|(likeness, _)| *likeness > 0.0).collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    let like = ranked.partition_point(|(likeness, _)| *likeness >= MIN_LIKENESS);
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
struct Pairs {
    /// The pairs, sorted, with their counts.
    counts: Vec<((char, char), u32)>,
    all: u32,
    /// The number of occurrences of each pair in the name that is compared.
    met: Vec<u32>,
    /// A filter over the pairs, by hash. Most pairs of a name do not occur in the query, and the filter rejects them
    /// cheaply.
    hints: Box<[bool; HINTS]>,
}

/// The size of the filter.
const HINTS: usize = 4096;

impl Pairs {
    fn of(text: impl Iterator<Item = char>) -> Self {
        let text: Vec<char> = text.collect();
        let mut pairs: Vec<(char, char)> = pairs_of(text.iter().copied()).collect();
        pairs.sort_unstable();
        let mut hints = Box::new([false; HINTS]);
        for pair in &pairs {
            if let Some(slot) = hints.get_mut(hint(*pair)) {
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
        Self { met: vec![0; counts.len()], counts, all, hints }
    }

    /// Returns the share of pairs that the query and the name have in common (the Sørensen–Dice coefficient).
    fn likeness(&mut self, name: &str) -> f64 {
        let (mut both, mut all) = (0_u32, self.all);
        let mut is_new = true;
        for pair in pairs_of(name.chars().take(MAX_COMPARED_CHARS)) {
            all += 1;
            if !self.hints.get(hint(pair)).is_some_and(|hint| *hint) {
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

fn hint((first, second): (char, char)) -> usize {
    (u32::from(first).wrapping_mul(61) ^ u32::from(second)) as usize % HINTS
}
