//! The ranking of facts by a query.

use super::notebook::Fact;

/// The maximum number of facts that one call returns.
pub(crate) const MAX_RECALLED: usize = 50;

/// Returns the facts that match a query, the best first, and the latest first among equals. Without a query, returns
/// all of them, the latest first.
///
/// The score of a fact is the number of words of the query that are a prefix of one of its words, or the other way
/// round, regardless of case. A fact that contains the whole query as it is scores highest, which also serves languages
/// without spaces.
pub(super) fn recall<'a>(facts: &'a [Fact], query: Option<&str>, limit: usize) -> Vec<&'a Fact> {
    let limit = limit.clamp(1, MAX_RECALLED);
    let Some(query) = query.map(str::trim).filter(|query| !query.is_empty()) else {
        return facts.iter().rev().take(limit).collect();
    };
    let query = query.to_lowercase();
    let query_words: Vec<&str> = words(&query).collect();
    let mut fitting: Vec<(usize, &Fact)> = facts
        .iter()
        .rev()
        .map(|fact| (score(&fact.text.to_lowercase(), &query, &query_words), fact))
        .filter(|(score, _)| *score > 0)
        .collect();
    fitting.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    fitting.into_iter().map(|(_, fact)| fact).take(limit).collect()
}

fn score(fact: &str, query: &str, query_words: &[&str]) -> usize {
    if fact.contains(query) {
        return usize::MAX;
    }
    let fits = |query_words: &&&str| {
        words(fact).any(|word| has_prefix(word, query_words) || has_prefix(query_words, word))
    };
    query_words.iter().filter(fits).count()
}

/// Returns true if a word begins with another one of some length: `invoices` with `invoice`, but nothing with `a`.
fn has_prefix(word: &str, with: &str) -> bool {
    word == with || with.chars().count() >= MIN_STEM_CHARS && word.starts_with(with)
}

/// The minimum length of a prefix that matches a longer word, in characters.
const MIN_STEM_CHARS: usize = 3;

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| !character.is_alphanumeric()).filter(|word| !word.is_empty())
}
