//! Which facts a query is about.

use super::notebook::Fact;

/// How many facts one call returns at most.
pub const MAX_RECALLED: usize = 50;

/// The facts that fit a query, the best first, the latest first among equals; all of them, the latest first, without one.
///
/// A fact is as good as the number of words of the query that one of its words begins with, or that begin with one of its
/// words, whatever their case. A query that stands in a fact as it is, as one without spaces does, beats them.
pub(super) fn recall<'a>(facts: &'a [Fact], query: Option<&str>, limit: usize) -> Vec<&'a Fact> {
    let limit = limit.clamp(1, MAX_RECALLED);
    let Some(query) = query.map(str::trim).filter(|query| !query.is_empty()) else {
        return facts.iter().rev().take(limit).collect();
    };
    let query = query.to_lowercase();
    let asked: Vec<&str> = words(&query).collect();
    let mut fitting: Vec<(usize, &Fact)> = facts
        .iter()
        .rev()
        .map(|fact| (score(&fact.text.to_lowercase(), &query, &asked), fact))
        .filter(|(score, _)| *score > 0)
        .collect();
    fitting.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    fitting.into_iter().map(|(_, fact)| fact).take(limit).collect()
}

fn score(fact: &str, query: &str, asked: &[&str]) -> usize {
    if fact.contains(query) {
        return usize::MAX;
    }
    let fits = |asked: &&&str| words(fact).any(|word| begins(word, asked) || begins(asked, word));
    asked.iter().filter(fits).count()
}

/// Whether a word begins with another one of some length: `invoices` with `invoice`, but nothing with `a`.
fn begins(word: &str, with: &str) -> bool {
    word == with || with.chars().count() >= MIN_STEM_CHARS && word.starts_with(with)
}

/// How long the beginning of a word has to be to stand for it.
const MIN_STEM_CHARS: usize = 3;

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| !character.is_alphanumeric()).filter(|word| !word.is_empty())
}
