//! What the keyword retriever promises.

use proptest::prelude::*;
use toolcrib_model::{QualifiedName, Tool};

use super::builder::build;
use super::inverted_index;
use super::{Candidate, KeywordIndex, QueryTerm, SATURATION};
use crate::text::Analyzer;

/// Returns an index of tools whose words are numbers, small ones in most tools and large ones in few.
fn index(tools: usize, words: usize, seed: u64) -> KeywordIndex {
    let mut state = seed.wrapping_mul(2_654_435_769) | 1;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % 1_000_003).unwrap() % below
    };
    let tools: Vec<Tool> = (0..tools)
        .map(|number| {
            let length = 1 + random(12);
            let text: Vec<String> = (0..length)
                .map(|_| {
                    let below = 1 + random(words);
                    format!("w{}", random(below))
                })
                .collect();
            let name = QualifiedName::new("n", format!("t{number:06}")).unwrap();
            Tool::new(name).with_description(text.join(" "))
        })
        .collect();
    let overloads: Vec<Vec<&Tool>> = tools.iter().map(|tool| vec![tool]).collect();
    let overloads: Vec<&[&Tool]> = overloads.iter().map(Vec::as_slice).collect();
    build(&overloads, Analyzer::new()).unwrap().keyword
}

/// Returns the terms of a query, each with its variants.
fn query(words: &[Vec<usize>]) -> Vec<QueryTerm> {
    let variant = |(place, word): (usize, &usize)| (format!("w{word}"), if place == 0 { 1.0 } else { 0.3 });
    let term = |variants: &Vec<usize>| QueryTerm {
        word: String::new(),
        variants: variants.iter().enumerate().map(variant).collect(),
    };
    words.iter().map(term).collect()
}

/// Scores every tool that contains a term, posting by posting.
fn exhaustive(index: &KeywordIndex, terms: &[QueryTerm]) -> Vec<Candidate> {
    let mut all: Vec<Candidate> = (0..u32::try_from(index.tools).unwrap())
        .map(|document| Candidate { document, score: 0.0, terms: 0, fields: 0 })
        .collect();
    for (bit, term) in terms.iter().enumerate() {
        let lists: Vec<_> =
            term.variants.iter().map(|(text, share)| (index.terms.postings(text).postings, share)).collect();
        let first = lists.iter().find(|(list, _)| !list.is_empty());
        let idf = index.idf(first.map_or(0, |(list, _)| list.len()));
        let mut sums = vec![(0.0_f32, 0_u8); all.len()];
        for (list, share) in lists {
            for posting in list {
                let sum = &mut sums[inverted_index::document(posting) as usize];
                sum.0 += share * inverted_index::frequency(posting);
                sum.1 |= inverted_index::fields(posting);
            }
        }
        for (one, (frequency, fields)) in all.iter_mut().zip(sums).filter(|(_, sum)| sum.1 != 0) {
            one.score += idf * frequency * (SATURATION + 1.0) / (frequency + SATURATION);
            one.fields |= fields;
            one.terms |= 1 << bit;
        }
    }
    all.retain(|one| one.terms != 0);
    all.sort_by(|one, other| other.cmp(one));
    all
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn the_best_are_those_of_scoring_every_tool(
        tools in 1_usize..6_000, vocabulary in 1_usize..400, seed in any::<u64>(),
        words in prop::collection::vec(prop::collection::vec(0_usize..420, 1..5), 0..8),
        limit in 0_usize..60, hidden in 0_u32..5,
    ) {
        let (index, terms) = (index(tools, vocabulary, seed), query(&words));
        let is_visible = |document: u32| hidden == 0 || document % 5 != hidden;
        let expected = exhaustive(&index, &terms);
        let visible = expected.iter().copied().filter(|one| is_visible(one.document));
        let (found, _) = index.search(&terms, limit, is_visible);
        prop_assert_eq!(found, visible.take(limit).collect::<Vec<_>>());
        let mut documents: Vec<u32> = expected.iter().map(|one| one.document).collect();
        documents.reverse();
        let mut by_number = expected;
        by_number.sort_by_key(|one| one.document);
        prop_assert_eq!(index.scores(&terms, documents), by_number);
    }
}
