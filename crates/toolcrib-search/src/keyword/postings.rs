//! Posting lists: the weighted frequency of a term in each tool, over all fields.

use std::borrow::Cow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use tantivy::schema::{Field as IndexField, IndexRecordOption};
use tantivy::{InvertedIndexReader, Term};

use super::as_f32;
use crate::Error;
use crate::keyword::lexicon::LexiconTerm;

/// The most postings that are cached in memory, over all terms: 24 MB. The postings of further terms are read from the
/// index each time.
const MAX_CACHED_POSTINGS: usize = 2_000_000;

/// The occurrences of a term in one tool.
#[derive(Clone, Copy, Debug)]
pub(super) struct Posting {
    pub(super) document: u32,
    /// The frequency over all fields, weighted by field and normalized by field length.
    pub(super) frequency: f32,
    /// The fields that contain the term, one bit each.
    pub(super) fields: u8,
}

/// The posting lists of all terms.
pub(super) struct Postings {
    fields: Vec<IndexedField>,
    /// The cached postings of each term, by its number.
    cached: Vec<OnceLock<Box<[Posting]>>>,
    /// The number of postings that may still be cached.
    remaining: AtomicUsize,
}

/// A field of the index.
pub(super) struct IndexedField {
    pub(super) number: usize,
    pub(super) field: IndexField,
    pub(super) postings: Arc<InvertedIndexReader>,
    /// The weight of one occurrence in this field, for each tool.
    pub(super) norms: Vec<f32>,
}

impl Postings {
    /// Creates the posting lists of this many terms.
    pub(super) fn new(fields: Vec<IndexedField>, terms: usize) -> Self {
        let cached = std::iter::repeat_with(OnceLock::new).take(terms).collect();
        Self { fields, cached, remaining: AtomicUsize::new(MAX_CACHED_POSTINGS) }
    }

    /// Returns the tools that contain a term. `sums` must have one zero entry for each tool, and is left in that state.
    pub(super) fn of(
        &self,
        number: usize,
        term: &LexiconTerm,
        sums: &mut [Sum],
    ) -> Result<Cow<'_, [Posting]>, Error> {
        let slot = self.cached.get(number);
        if let Some(cached) = slot.and_then(OnceLock::get) {
            return Ok(Cow::Borrowed(cached));
        }
        let read = self.read(term, sums)?;
        let less = |remaining: usize| remaining.checked_sub(read.len());
        match slot {
            Some(slot) if self.remaining.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok() => {
                Ok(Cow::Borrowed(slot.get_or_init(|| read.into())))
            }
            _ => Ok(Cow::Owned(read)),
        }
    }

    /// Sets the most postings that are cached.
    #[cfg(test)]
    pub(super) fn cache_at_most(&mut self, postings: usize) {
        self.remaining = AtomicUsize::new(postings);
    }

    fn read(&self, term: &LexiconTerm, sums: &mut [Sum]) -> Result<Vec<Posting>, Error> {
        let mut documents = Vec::with_capacity(term.tools);
        for IndexedField { number, field, postings, norms } in &self.fields {
            if term.fields >> number & 1 == 0 {
                continue;
            }
            let term = Term::from_field_text(*field, &term.text);
            let Some(mut block) = postings.read_block_postings(&term, IndexRecordOption::WithFreqs)? else {
                continue;
            };
            while !block.docs().is_empty() {
                for (document, frequency) in block.docs().iter().zip(block.freqs()) {
                    let at = *document as usize;
                    let Some((sum, norm)) = sums.get_mut(at).zip(norms.get(at)) else { continue };
                    if sum.fields == 0 {
                        documents.push(*document);
                    }
                    sum.frequency += norm * as_f32(*frequency as usize);
                    sum.fields |= 1 << number;
                }
                block.advance();
            }
        }
        let sum = |document: u32| {
            let sum = sums.get_mut(document as usize).map(std::mem::take).unwrap_or_default();
            Posting { document, frequency: sum.frequency, fields: sum.fields }
        };
        Ok(documents.into_iter().map(sum).collect())
    }
}

/// The sum over the fields of a tool that have been read.
#[derive(Clone, Copy, Default)]
pub(super) struct Sum {
    pub(super) frequency: f32,
    pub(super) fields: u8,
}
