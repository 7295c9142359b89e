//! What each tool has of a term, over all fields.

use std::borrow::Cow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use tantivy::schema::{Field as IndexField, IndexRecordOption};
use tantivy::{InvertedIndexReader, Term};

use super::as_f32;
use crate::Error;
use crate::lexicon::Use;

/// How many postings are kept once they were asked for, of all terms together: 24 MB. Those of further terms are read from
/// the index each time.
const MAX_KEPT: usize = 2_000_000;

/// What a tool has of a term.
#[derive(Clone, Copy, Debug)]
pub(super) struct Posting {
    pub(super) document: u32,
    /// How often it has it, over all fields, by what they weigh and how long they are.
    pub(super) frequency: f32,
    /// The fields that have it, one bit each.
    pub(super) fields: u8,
}

/// The posting lists of all terms.
pub(super) struct Postings {
    fields: Vec<IndexedField>,
    /// Those of each term that were asked for, by its number.
    kept: Vec<OnceLock<Box<[Posting]>>>,
    /// How many more are kept.
    room: AtomicUsize,
}

/// A field of the index.
pub(super) struct IndexedField {
    pub(super) number: usize,
    pub(super) field: IndexField,
    pub(super) postings: Arc<InvertedIndexReader>,
    /// What a term in this field counts, for each tool.
    pub(super) norms: Vec<f32>,
}

impl Postings {
    /// Those of so many terms.
    pub(super) fn new(fields: Vec<IndexedField>, terms: usize) -> Self {
        let kept = std::iter::repeat_with(OnceLock::new).take(terms).collect();
        Self { fields, kept, room: AtomicUsize::new(MAX_KEPT) }
    }

    /// The tools that have a term. `sums` is as long as there are tools, all zero, and is left so.
    pub(super) fn of(
        &self,
        number: usize,
        term: &Use,
        sums: &mut [Sum],
    ) -> Result<Cow<'_, [Posting]>, Error> {
        let slot = self.kept.get(number);
        if let Some(kept) = slot.and_then(OnceLock::get) {
            return Ok(Cow::Borrowed(kept));
        }
        let read = self.read(term, sums)?;
        let less = |room: usize| room.checked_sub(read.len());
        match slot {
            Some(slot) if self.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok() => {
                Ok(Cow::Borrowed(slot.get_or_init(|| read.into())))
            }
            _ => Ok(Cow::Owned(read)),
        }
    }

    /// Keeps no more than so many.
    #[cfg(test)]
    pub(super) fn keep_at_most(&mut self, postings: usize) {
        self.room = AtomicUsize::new(postings);
    }

    fn read(&self, term: &Use, sums: &mut [Sum]) -> Result<Vec<Posting>, Error> {
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

/// What was found of a tool so far.
#[derive(Clone, Copy, Default)]
pub(super) struct Sum {
    pub(super) frequency: f32,
    pub(super) fields: u8,
}
