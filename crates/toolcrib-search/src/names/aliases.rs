//! The aliases of tools. A query that contains all words of an alias in sequence mentions its tool.

use std::collections::HashMap;

use toolcrib_model::Tool;
use toolcrib_model::text::truncate_bytes;

use crate::text::{Analyzer, Word, is_stop, words};

/// The most words of an alias that is indexed.
const MAX_WORDS: usize = 6;

/// The most bytes of an alias that are read.
const MAX_BYTES: usize = 200;

/// The most aliases of one tool that are indexed.
const MAX_ALIASES: usize = 64;

/// The most tools that may share an alias. An alias of more tools identifies none of them.
const MAX_BEARERS: usize = 3;

/// The tools of each alias.
#[derive(Default)]
pub(crate) struct Aliases {
    by_text: HashMap<String, Vec<u32>>,
}

/// An alias that occurs in a query: its tools, and the range of query words that it covers.
pub(crate) struct AliasMention<'a> {
    pub(crate) documents: &'a [u32],
    pub(crate) span: (usize, usize),
}

impl Aliases {
    /// Adds the aliases of a tool.
    pub(crate) fn add(&mut self, document: u32, tool: &Tool, analyzer: Analyzer) {
        for alias in tool.aliases().take(MAX_ALIASES) {
            let words = words(truncate_bytes(alias, MAX_BYTES));
            let text = joined(&words.iter().collect::<Vec<_>>(), analyzer);
            if words.len() <= MAX_WORDS && words.iter().any(|word| !is_stop(word)) {
                let documents = self.by_text.entry(text).or_default();
                if documents.last() != Some(&document) {
                    documents.push(document);
                }
            }
        }
    }

    /// Returns the aliases that occur in a query, the longest first. An alias of a single word counts only if it is the
    /// whole query, or if `is_rare` returns true: no other tool uses the word.
    pub(crate) fn mentions(
        &self,
        query: &[Word],
        analyzer: Analyzer,
        is_rare: impl Fn(&str, usize) -> bool,
    ) -> Vec<AliasMention<'_>> {
        if self.by_text.is_empty() {
            return Vec::new();
        }
        let mut found = Vec::new();
        for length in (1..=MAX_WORDS.min(query.len())).rev() {
            for (from, part) in query.windows(length).enumerate() {
                let text = joined(&part.iter().collect::<Vec<_>>(), analyzer);
                let documents = self.by_text.get(&text).filter(|documents| documents.len() <= MAX_BEARERS);
                let span = (from, from + length);
                let is_meant = |documents: &Vec<u32>| {
                    let mut outside = query.iter().take(span.0).chain(query.iter().skip(span.1));
                    length > 1 || outside.all(is_stop) || is_rare(&text, documents.len())
                };
                if let Some(documents) = documents.filter(|documents| is_meant(documents)) {
                    found.push(AliasMention { documents, span });
                }
            }
        }
        found
    }
}

/// Returns the stems of the words, joined in the form in which aliases are compared.
fn joined(words: &[&Word], analyzer: Analyzer) -> String {
    words.iter().map(|word| analyzer.stem(&word.text)).collect::<Vec<_>>().join(" ")
}
