//! The best tools for a query, without a score for every tool that matches (`MaxScore`).
//!
//! The most that a term adds to a score is known. As soon as enough tools are found, the terms that together cannot
//! lift a tool above the worst of them become *optional*: a tool that contains none of the others is not looked at, and
//! the optional terms are looked up only for tools that could still be among the best. The result is that of scoring
//! all tools, to the last bit: the score of each tool that is found is computed from all its terms, in their order.
//!
//! H. Turtle, J. Flood: "Query evaluation: strategies and optimizations", 1995. The required terms are added up window
//! by window, as in the bulk scorer of Lucene, because a list that is read from front to back is read fast.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::inverted_index::{self, Posting, PostingList};
use super::{Candidate, SATURATION};

/// The number of documents that are scored at once. Their scores fit into the fastest cache.
const WINDOW: u32 = 4096;

/// The size of the first window. The windows grow, because there is nothing to compare with in the beginning.
const FIRST_WINDOW: u32 = 128;

/// The factor of growth of the windows.
const GROWTH: u32 = 4;

/// The factor by which a bound is raised, so that rounding never makes it too low.
const SLACK: f32 = 1.0001;

/// A term of a query, with the posting lists of its variants.
pub(super) struct TermLists<'a> {
    lists: Vec<VariantList<'a>>,
    idf: f32,
    /// The number of the term in the query.
    bit: usize,
    /// The most that the term adds to a score.
    bound: f32,
}

/// The posting list of a variant.
struct VariantList<'a> {
    /// The postings from the document on that was looked up last.
    rest: &'a [Posting],
    share: f32,
}

impl<'a> TermLists<'a> {
    /// Creates a term from the lists of its variants, each with its share of the weight.
    pub(super) fn new(lists: &[(PostingList<'a>, f32)], idf: f32, bit: usize) -> Self {
        let highest = lists.iter().map(|(list, share)| share * list.max_frequency).sum();
        let lists = lists.iter().map(|(list, share)| VariantList { rest: list.postings, share: *share });
        Self { lists: lists.collect(), idf, bit, bound: score(highest, idf) }
    }

    /// Returns the next document that contains the term.
    fn next(&self) -> Option<u32> {
        self.lists.iter().filter_map(|list| list.rest.first().map(inverted_index::document)).min()
    }

    /// Returns a bound of what the term adds to the score of a document: the variants are scored one by one.
    fn bound_of(&mut self, document: u32) -> f32 {
        let lists = self.lists.iter_mut();
        lists
            .filter_map(|list| {
                Some(score(list.share * inverted_index::frequency(list.seek(document)?), self.idf))
            })
            .sum()
    }

    /// Adds what the term adds to the score of a document.
    fn add_to(&mut self, candidate: &mut Candidate) {
        let (mut frequency, mut fields) = (0.0, 0);
        for list in &mut self.lists {
            if let Some(posting) = list.seek(candidate.document) {
                frequency += list.share * inverted_index::frequency(posting);
                fields |= inverted_index::fields(posting);
            }
        }
        if fields != 0 {
            candidate.score += score(frequency, self.idf);
            candidate.fields |= fields;
            candidate.terms |= 1 << self.bit;
        }
    }
}

impl<'a> VariantList<'a> {
    /// Skips to a document, which is not before the last one. Returns its posting if it contains the variant.
    fn seek(&mut self, document: u32) -> Option<&'a Posting> {
        let is_before = |posting: &Posting| inverted_index::document(posting) < document;
        if self.rest.first().is_some_and(is_before) {
            let mut end = 1;
            while self.rest.get(end).is_some_and(is_before) {
                end *= 2;
            }
            let skipped = end / 2;
            let near = self.rest.get(skipped..self.rest.len().min(end)).unwrap_or_default();
            self.rest = self.rest.get(skipped + near.partition_point(is_before)..).unwrap_or_default();
        }
        self.rest.first().filter(|posting| inverted_index::document(posting) == document)
    }
}

/// Returns the score of a document, which is zero if it contains no term.
pub(super) fn score_of(terms: &mut [TermLists<'_>], document: u32) -> Candidate {
    let mut candidate = Candidate { document, score: 0.0, terms: 0, fields: 0 };
    for term in terms {
        term.add_to(&mut candidate);
    }
    candidate
}

/// Returns the visible documents with the highest scores, best first; of equal ones the first.
pub(super) fn best(
    terms: &mut [TermLists<'_>],
    limit: usize,
    is_visible: impl Fn(u32) -> bool,
) -> Vec<Candidate> {
    if limit == 0 {
        return Vec::new();
    }
    let bounds = Bounds::of(terms);
    let mut best = Best { limit, found: BinaryHeap::with_capacity(limit + 1) };
    let mut window = Window::new();
    let mut size = FIRST_WINDOW.min(WINDOW);
    loop {
        let (optional, required) = bounds.order.split_at(bounds.optional(best.threshold()));
        let next = required.iter().filter_map(|place| terms.get(*place)?.next()).min();
        let Some(start) = next else { break };
        for place in required {
            if let Some(term) = terms.get(*place) {
                window.add(term, start, size);
            }
        }
        let rest = bounds.sum(optional.len());
        window.drain(start, |document, partial| {
            if !best.may_hold(partial + rest) || !bounds.may_hold(terms, optional, document, partial, &best) {
                return;
            }
            let candidate = score_of(terms, document);
            if best.accepts(&candidate) && is_visible(document) {
                best.push(candidate);
            }
        });
        for term in required {
            for list in terms.get_mut(*term).into_iter().flat_map(|term| &mut term.lists) {
                list.seek(start.saturating_add(size));
            }
        }
        size = (size * GROWTH).min(WINDOW);
    }
    best.found.into_sorted_vec().into_iter().map(|Reverse(candidate)| candidate).collect()
}

/// The bounds of the terms.
struct Bounds {
    /// The places of the terms, those that add least first.
    order: Vec<usize>,
    /// The sum of the bounds of as many terms in that order.
    sums: Vec<f32>,
}

impl Bounds {
    fn of(terms: &[TermLists<'_>]) -> Self {
        let bound = |place: &usize| terms.get(*place).map_or(0.0, |term| term.bound);
        let mut order: Vec<usize> = (0..terms.len()).collect();
        order.sort_by(|a, b| bound(a).total_cmp(&bound(b)));
        let mut sum = 0.0;
        let sums = order.iter().map(|place| {
            sum += bound(place);
            sum
        });
        let sums = std::iter::once(0.0).chain(sums.collect::<Vec<_>>()).collect();
        Self { order, sums }
    }

    /// Returns what the first terms add together at most.
    fn sum(&self, terms: usize) -> f32 {
        self.sums.get(terms).copied().unwrap_or(f32::INFINITY)
    }

    /// Returns the number of the first terms that together cannot exceed the threshold.
    fn optional(&self, threshold: Option<f32>) -> usize {
        let Some(threshold) = threshold else { return 0 };
        self.sums.partition_point(|sum| sum * SLACK <= threshold).saturating_sub(1)
    }

    /// Returns true if a document may be among the best: looks up the optional terms, those that may add most first,
    /// until it cannot.
    fn may_hold(
        &self,
        terms: &mut [TermLists<'_>],
        optional: &[usize],
        document: u32,
        partial: f32,
        best: &Best,
    ) -> bool {
        let mut sum = partial;
        optional.iter().enumerate().rev().all(|(before, place)| {
            sum += terms.get_mut(*place).map_or(0.0, |term| term.bound_of(document));
            best.may_hold(sum + self.sum(before))
        })
    }
}

/// The best documents so far.
struct Best {
    limit: usize,
    found: BinaryHeap<Reverse<Candidate>>,
}

impl Best {
    /// Returns the score that a further document has to exceed: the documents come in order, and of equal ones the
    /// first stays.
    fn threshold(&self) -> Option<f32> {
        let worst = self.found.peek().filter(|_| self.found.len() >= self.limit);
        worst.map(|Reverse(candidate)| candidate.score)
    }

    /// Returns true if a score of at most this may exceed the threshold.
    fn may_hold(&self, bound: f32) -> bool {
        self.threshold().is_none_or(|threshold| bound * SLACK > threshold)
    }

    fn accepts(&self, candidate: &Candidate) -> bool {
        self.threshold().is_none_or(|threshold| candidate.score > threshold)
    }

    fn push(&mut self, candidate: Candidate) {
        self.found.push(Reverse(candidate));
        if self.found.len() > self.limit {
            self.found.pop();
        }
    }
}

/// The sums of the required terms of the documents in a window.
struct Window {
    sums: Vec<f32>,
    /// The documents that contain a required term, one bit each.
    matched: Vec<u64>,
}

impl Window {
    fn new() -> Self {
        let words = (WINDOW / u64::BITS) as usize;
        Self { sums: vec![0.0; WINDOW as usize], matched: vec![0; words] }
    }

    /// Adds a bound of what a term adds to each document: its variants are scored one by one.
    fn add(&mut self, term: &TermLists<'_>, start: u32, size: u32) {
        for list in &term.lists {
            for posting in list.rest {
                let place = inverted_index::document(posting).wrapping_sub(start);
                if place >= size {
                    break;
                }
                let (sum, word) =
                    (self.sums.get_mut(place as usize), self.matched.get_mut((place / u64::BITS) as usize));
                if let Some((sum, word)) = sum.zip(word) {
                    *sum += score(list.share * inverted_index::frequency(posting), term.idf);
                    *word |= 1 << (place % u64::BITS);
                }
            }
        }
    }

    /// Takes out each document that matches, in order, with its sum.
    fn drain(&mut self, start: u32, mut each: impl FnMut(u32, f32)) {
        for (word, sums) in self
            .matched
            .iter_mut()
            .zip(self.sums.chunks_exact_mut(u64::BITS as usize))
            .enumerate()
            .map(|(at, (word, sums))| ((at, std::mem::take(word)), sums))
        {
            let (at, mut bits) = word;
            while bits != 0 {
                let bit = bits.trailing_zeros();
                bits &= bits - 1;
                let sum = sums.get_mut(bit as usize).map(std::mem::take).unwrap_or_default();
                let base = u32::try_from(at).unwrap_or_default() * u64::BITS;
                each(start + base + bit, sum);
            }
        }
    }
}

/// Returns what a term of this frequency adds to a score.
fn score(frequency: f32, idf: f32) -> f32 {
    idf * frequency * (SATURATION + 1.0) / (frequency + SATURATION)
}
