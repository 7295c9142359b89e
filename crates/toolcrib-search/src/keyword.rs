//! The keyword arm: an inverted index of tantivy in memory, scored with BM25F.
//!
//! BM25F adds the weighted frequencies of a term over the fields *before* they saturate, so a word that stands in the
//! name, the description and a parameter counts once, strongly, instead of three times (Robertson, Zaragoza, Taylor:
//! "Simple BM25 extension to multiple weighted fields", 2004). tantivy scores each field by itself, therefore only its
//! term dictionaries and posting lists are used here.

use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;

use tantivy::directory::RamDirectory;
use tantivy::schema::{Field as IndexField, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::tokenizer::{PreTokenizedString, Token};
use tantivy::{
    Index, IndexReader, IndexSettings, InvertedIndexReader, ReloadPolicy, SingleSegmentIndexWriter,
    TantivyDocument, Term,
};

use crate::text::Analyzer;
use crate::{Error, Field};

/// The most tools of one index.
pub const MAX_TOOLS: usize = 1_000_000;
/// The most bytes that the index writer may hold while tools are added.
pub const MAX_WRITER_BYTES: usize = 1024 * 1024 * 1024;
/// The memory with which the writer begins, in bytes; it sets the size of its first hash table.
const WRITER_BUDGET_BYTES: usize = 16 * 1024 * 1024;

const FIELDS: usize = Field::ALL.len();

/// How fast a term saturates (BM25's `k1`), chosen like the weights.
pub(crate) const SATURATION: f32 = 2.0;

/// How much a field counts beside the description, in the order of the fields. Round values from the middle of the
/// range in which the mean over the labelled sets hardly moves; keywords and results, which those sets do not have,
/// are set by analogy with description and parameters.
const WEIGHTS: [f32; FIELDS] = [2.0, 1.0, 1.0, 1.0, 0.5, 0.3];

/// How much the length of a field counts against it (BM25's `b`).
const LENGTH_PENALTY: f32 = 0.5;

/// One thing that a query asks for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct QueryTerm {
    /// The folded word of the query.
    pub word: String,
    /// What is looked up for it, with the share that it counts.
    pub variants: Vec<(String, f32)>,
}

/// The most terms of a query: one bit each in [`Candidate::terms`].
pub(crate) const MAX_QUERY_TERMS: usize = u64::BITS as usize;

/// Builds a [`KeywordIndex`].
pub(crate) struct Writer {
    inner: SingleSegmentIndexWriter,
    fields: [IndexField; FIELDS],
    lengths: Vec<[f32; FIELDS]>,
    known: HashMap<String, u8>,
}

impl Writer {
    pub(crate) fn new() -> Result<Self, Error> {
        let mut schema = Schema::builder();
        let indexing =
            TextFieldIndexing::default().set_index_option(IndexRecordOption::WithFreqs).set_fieldnorms(false);
        let options = TextOptions::default().set_indexing_options(indexing);
        let fields = Field::ALL.map(|field| schema.add_text_field(field.as_str(), options.clone()));
        let settings =
            IndexSettings { docstore_compress_dedicated_thread: false, ..IndexSettings::default() };
        let inner = Index::builder()
            .schema(schema.build())
            .settings(settings)
            .single_segment_index_writer(RamDirectory::create(), WRITER_BUDGET_BYTES)?;
        Ok(Self { inner, fields, lengths: Vec::new(), known: HashMap::new() })
    }

    /// Adds the next document: the terms of each field.
    pub(crate) fn add(&mut self, terms: [Vec<String>; FIELDS]) -> Result<(), Error> {
        if self.lengths.len() >= MAX_TOOLS {
            return Err(Error::TooManyTools { limit: MAX_TOOLS });
        }
        if self.inner.mem_usage() > MAX_WRITER_BYTES {
            return Err(Error::TooMuchText { tools: self.lengths.len(), limit: MAX_WRITER_BYTES });
        }
        for (number, terms) in terms.iter().enumerate() {
            for term in terms {
                match self.known.get_mut(term) {
                    Some(fields) => *fields |= 1 << number,
                    None => drop(self.known.insert(term.clone(), 1 << number)),
                }
            }
        }
        let mut document = TantivyDocument::default();
        let mut lengths = [0.0; FIELDS];
        for ((field, terms), length) in self.fields.iter().zip(terms).zip(&mut lengths) {
            *length = as_f32(terms.len());
            let tokens =
                terms.into_iter().map(|text| Token { text, position: 0, ..Token::default() }).collect();
            document.add_pre_tokenized_text(*field, PreTokenizedString { text: String::new(), tokens });
        }
        self.inner.add_document(document)?;
        self.lengths.push(lengths);
        Ok(())
    }

    /// Closes the index.
    pub(crate) fn finish(self) -> Result<KeywordIndex, Error> {
        let reader: IndexReader =
            self.inner.finalize()?.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        let searcher = reader.searcher();
        let mut fields = Vec::new();
        for segment in searcher.segment_readers() {
            for (number, field) in self.fields.iter().enumerate() {
                fields.push(IndexedField {
                    number,
                    field: *field,
                    postings: segment.inverted_index(*field)?,
                });
            }
        }
        let mut norms = self.lengths;
        for (number, weight) in WEIGHTS.into_iter().enumerate() {
            let total: f32 = norms.iter().filter_map(|row| row.get(number)).sum();
            let average = total / as_f32(norms.len()).max(1.0);
            for norm in norms.iter_mut().filter_map(|row| row.get_mut(number)) {
                let length = *norm / average.max(f32::MIN_POSITIVE);
                *norm = weight / (1.0 - LENGTH_PENALTY + LENGTH_PENALTY * length);
            }
        }
        Ok(KeywordIndex { fields, norms, known: self.known })
    }
}

/// The posting lists of all tools, and what each field of each tool weighs.
pub(crate) struct KeywordIndex {
    fields: Vec<IndexedField>,
    norms: Vec<[f32; FIELDS]>,
    /// The fields that each term stands in, one bit each: most lookups in the dictionaries would find nothing.
    known: HashMap<String, u8>,
}

struct IndexedField {
    number: usize,
    field: IndexField,
    postings: Arc<InvertedIndexReader>,
}

/// What the keyword arm finds.
pub(crate) struct Matches {
    /// Every tool that matches a term, best first when popped.
    pub best: BinaryHeap<Candidate>,
    /// What each term of the query weighs: the more, the fewer tools have it.
    pub weights: Vec<f32>,
}

/// A tool that matches, and what of the query it matches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Candidate {
    pub document: u32,
    pub score: f32,
    /// One bit for each term of the query.
    pub terms: u64,
    /// One bit for each field.
    pub fields: u8,
}

impl Eq for Candidate {}

impl Ord for Candidate {
    /// By score; the lower number, which is the earlier name, wins a tie.
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.score.total_cmp(&other.score).then_with(|| other.document.cmp(&self.document))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl KeywordIndex {
    /// Whether any tool has the term in any field.
    pub(crate) fn contains(&self, term: &str) -> bool {
        self.known.contains_key(term)
    }

    /// Every tool that matches a term.
    pub(crate) fn search(&self, terms: &[QueryTerm]) -> Result<Matches, Error> {
        let mut rows = vec![Row::default(); self.norms.len()];
        let mut matched: Vec<u32> = Vec::new();
        let mut touched: Vec<u32> = Vec::new();
        let mut weights = Vec::with_capacity(terms.len());
        for (bit, term) in terms.iter().take(MAX_QUERY_TERMS).enumerate() {
            let mut documents = 0;
            for (variant, share) in &term.variants {
                self.add_frequencies(variant, *share, &mut rows, &mut touched)?;
                // How rare a term is, is a matter of the word itself; its synonyms only count when it is nowhere.
                if documents == 0 {
                    documents = touched.len();
                }
            }
            let idf = self.idf(documents);
            weights.push(idf);
            for document in touched.drain(..) {
                let Some(row) = rows.get_mut(document as usize) else { continue };
                if row.terms == 0 {
                    matched.push(document);
                }
                row.score += idf * row.frequency * (SATURATION + 1.0) / (row.frequency + SATURATION);
                row.frequency = 0.0;
                row.terms |= 1 << bit;
            }
        }
        let candidates = matched.into_iter().filter_map(|document| {
            let row = rows.get(document as usize)?;
            Some(Candidate { document, score: row.score, terms: row.terms, fields: row.fields })
        });
        Ok(Matches { best: candidates.collect::<Vec<_>>().into(), weights })
    }

    /// Adds what the fields of each tool have of a term.
    fn add_frequencies(
        &self,
        term: &str,
        share: f32,
        rows: &mut [Row],
        touched: &mut Vec<u32>,
    ) -> Result<(), Error> {
        let Some(known) = self.known.get(term) else { return Ok(()) };
        for IndexedField { number, field, postings } in &self.fields {
            if known >> number & 1 == 0 {
                continue;
            }
            let term = Term::from_field_text(*field, term);
            let Some(mut block) = postings.read_block_postings(&term, IndexRecordOption::WithFreqs)? else {
                continue;
            };
            while !block.docs().is_empty() {
                for (document, frequency) in block.docs().iter().zip(block.freqs()) {
                    let at = *document as usize;
                    let norm =
                        self.norms.get(at).and_then(|row| row.get(*number)).copied().unwrap_or_default();
                    let Some(row) = rows.get_mut(at) else { continue };
                    if row.frequency == 0.0 {
                        touched.push(*document);
                    }
                    row.frequency += share * norm * as_f32(*frequency as usize);
                    row.fields |= 1 << number;
                }
                block.advance();
            }
        }
        Ok(())
    }

    /// The weight of a term that `documents` tools have (BM25's, which is never negative).
    fn idf(&self, documents: usize) -> f32 {
        let (all, with) = (as_f32(self.norms.len()), as_f32(documents));
        (1.0 + (all - with + 0.5) / (with + 0.5)).ln()
    }
}

/// What is known of a tool while a query is scored.
#[derive(Clone, Copy, Default)]
struct Row {
    score: f32,
    frequency: f32,
    terms: u64,
    fields: u8,
}

/// The terms of a text, as texts.
pub(crate) fn term_texts(analyzer: Analyzer, text: &str) -> Vec<String> {
    analyzer.terms(text).into_iter().map(|term| term.text).collect()
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts of terms and tools, far below 2^24, or not worth the digits"
)]
fn as_f32(count: usize) -> f32 {
    count as f32
}
