//! The words of all names, titles, tags and aliases, for completing and correcting the words of a query.

use std::collections::BTreeMap;

use crate::cache::{ByteReader, put_bytes, put_count};

/// The fewest characters of a query word that is completed to longer words.
const MIN_PREFIX_CHARS: usize = 3;
/// The fewest characters of a query word that is corrected by one edit. In shorter words an edit gives a different
/// word.
const MIN_FUZZY_CHARS: usize = 5;
/// The most words that one query word expands to.
const MAX_EXPANSIONS: usize = 8;
/// The most words that are compared with one query word.
const MAX_COMPARED: usize = 4096;

/// The folded words by which tools are called, each with the term it is indexed as.
pub(crate) struct Vocabulary {
    /// The words, sorted, with their terms.
    forward: Vec<(String, String)>,
    /// The reversed words, sorted, with their position in `forward`.
    backward: Vec<(String, usize)>,
}

impl Vocabulary {
    /// Creates the vocabulary from words and their terms.
    pub(crate) fn new(words: BTreeMap<String, String>) -> Self {
        Self::sorted(words.into_iter().collect())
    }

    /// Writes all words.
    pub(crate) fn encode(&self, bytes: &mut Vec<u8>) {
        put_count(bytes, self.forward.len());
        for (word, term) in &self.forward {
            put_bytes(bytes, word.as_bytes());
            put_bytes(bytes, term.as_bytes());
        }
    }

    /// Reads words that [`encode`](Self::encode) wrote.
    pub(crate) fn decode(reader: &mut ByteReader<'_>) -> Option<Self> {
        let count = reader.count()?;
        let forward = (0..count).map(|_| Some((reader.text()?.to_owned(), reader.text()?.to_owned())));
        let forward: Vec<(String, String)> = forward.collect::<Option<_>>()?;
        forward.is_sorted().then(|| Self::sorted(forward))
    }

    fn sorted(forward: Vec<(String, String)>) -> Self {
        let mut backward: Vec<(String, usize)> = forward
            .iter()
            .enumerate()
            .map(|(place, (word, _))| (word.chars().rev().collect(), place))
            .collect();
        backward.sort_unstable();
        Self { forward, backward }
    }

    /// Returns the terms of words that begin with `word`, shortest first.
    pub(crate) fn completions(&self, word: &str) -> Vec<&str> {
        if word.chars().count() < MIN_PREFIX_CHARS {
            return Vec::new();
        }
        let mut found: Vec<&(String, String)> =
            range(&self.forward, word).iter().take(MAX_COMPARED).collect();
        found.sort_unstable_by_key(|(word, _)| (word.len(), word.as_str()));
        terms(found)
    }

    /// Returns the terms of words at one edit from `word`: an inserted, deleted or replaced character, or two swapped
    /// ones.
    pub(crate) fn corrections(&self, word: &str) -> Vec<&str> {
        let length = word.chars().count();
        if length < MIN_FUZZY_CHARS {
            return Vec::new();
        }
        // One edit leaves the first half or the last half as it is, so only words that share one are compared. The
        // halves are short enough that a swap in the very middle touches only one of them.
        let half = (length - 1) / 2;
        let head: String = word.chars().take(half).collect();
        let tail: String = word.chars().rev().take(half).collect();
        let by_head = range(&self.forward, &head).iter().take(MAX_COMPARED);
        let by_tail = range(&self.backward, &tail).iter().take(MAX_COMPARED);
        let mut found: Vec<&(String, String)> = by_head
            .chain(by_tail.filter_map(|(_, place)| self.forward.get(*place)))
            .filter(|(other, _)| other.chars().count().abs_diff(length) <= 1)
            .filter(|(other, _)| strsim::osa_distance(word, other) == 1)
            .collect();
        found.sort_unstable();
        found.dedup();
        terms(found)
    }
}

/// Returns the entries that begin with `prefix`.
fn range<'a, T>(sorted: &'a [(String, T)], prefix: &str) -> &'a [(String, T)] {
    let from = sorted.partition_point(|(word, _)| word.as_str() < prefix);
    let rest = sorted.get(from..).unwrap_or_default();
    let length = rest.partition_point(|(word, _)| word.starts_with(prefix));
    rest.get(..length).unwrap_or_default()
}

fn terms(found: Vec<&(String, String)>) -> Vec<&str> {
    let mut terms: Vec<&str> = Vec::new();
    for (_, term) in found {
        if terms.len() == MAX_EXPANSIONS {
            break;
        }
        if !terms.contains(&term.as_str()) {
            terms.push(term);
        }
    }
    terms
}
