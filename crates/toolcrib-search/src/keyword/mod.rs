//! The keyword retriever: an inverted index of tantivy in memory, scored with BM25F.
//!
//! BM25F adds the weighted frequencies of a term over the fields *before* they saturate. A word that occurs in the
//! name, the description and a parameter counts once, strongly, instead of three times (Robertson, Zaragoza, Taylor:
//! "Simple BM25 extension to multiple weighted fields", 2004). tantivy scores each field separately, therefore only its
//! term dictionaries and posting lists are used here.

mod accumulator;
pub(crate) mod builder;
pub(crate) mod lexicon;
mod postings;
pub(crate) mod synonyms;
pub(crate) mod vocabulary;

#[cfg(test)]
mod tests;

use std::collections::BinaryHeap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tantivy::directory::{Directory, RamDirectory};
use tantivy::schema::{Field as IndexField, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::tokenizer::TokenizerManager;
use tantivy::{Index, IndexSettings, SegmentReader, SingleSegmentIndexWriter, TantivyDocument};

use self::accumulator::ScoreAccumulator;
use self::postings::{IndexedField, Posting, Postings, Sum};
use crate::cache::{ByteReader, put_bytes, put_count};
use crate::keyword::lexicon::{Lexicon, SEPARATED, SeparatedTokenizer};
use crate::{Error, Field};

/// The most tools of one index.
pub const MAX_TOOLS: usize = 1_000_000;
/// The most bytes that the index writer may hold while tools are added.
pub const MAX_WRITER_BYTES: usize = 1024 * 1024 * 1024;
/// The initial memory budget of the writer in bytes. It sets the size of its first hash table.
const WRITER_BUDGET_BYTES: usize = 16 * 1024 * 1024;

/// The most score accumulators that are kept for reuse. Additional concurrent searches allocate new ones.
const MAX_IDLE_ACCUMULATORS: usize = 4;

pub(crate) const FIELDS: usize = Field::ALL.len();

/// The term saturation of BM25 (`k1`), chosen like the weights.
pub(crate) const SATURATION: f32 = 2.0;

/// The weight of each field relative to the description, in the order of the fields. Round values from the middle of
/// the range in which the mean over the labelled sets hardly changes. Keywords and results, which those sets do not
/// have, are set by analogy with description and parameters.
const WEIGHTS: [f32; FIELDS] = [2.0, 1.0, 1.0, 1.0, 0.5, 0.3];

/// The length normalization of BM25 (`b`).
const LENGTH_PENALTY: f32 = 0.5;

/// A term of a query, with its variants.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct QueryTerm {
    /// The folded word of the query.
    pub word: String,
    /// The terms to look up, each with its share of the weight.
    pub variants: Vec<(String, f32)>,
}

/// The most terms of a query: one bit each in [`Candidate::terms`].
pub(crate) const MAX_QUERY_TERMS: usize = u64::BITS as usize;

/// The terms of a tool, in the form that the index takes.
pub(crate) struct Document {
    /// The terms of each field, each followed by a [separator](crate::keyword::lexicon::SEPARATOR).
    pub texts: [String; FIELDS],
    /// The number of terms of each field.
    pub lengths: [usize; FIELDS],
}

/// The file of tantivy that lists all other files.
const META: &str = "meta.json";

/// A writer that builds a [`KeywordIndex`].
pub(crate) struct IndexBuilder {
    inner: SingleSegmentIndexWriter,
    directory: RamDirectory,
    fields: [IndexField; FIELDS],
    lengths: Vec<[usize; FIELDS]>,
}

impl IndexBuilder {
    pub(crate) fn new() -> Result<Self, Error> {
        let mut schema = Schema::builder();
        let indexing = TextFieldIndexing::default()
            .set_tokenizer(SEPARATED)
            .set_index_option(IndexRecordOption::WithFreqs)
            .set_fieldnorms(false);
        let options = TextOptions::default().set_indexing_options(indexing);
        let fields = Field::ALL.map(|field| schema.add_text_field(field.as_str(), options.clone()));
        let settings =
            IndexSettings { docstore_compress_dedicated_thread: false, ..IndexSettings::default() };
        let tokenizers = TokenizerManager::new();
        tokenizers.register(SEPARATED, SeparatedTokenizer::default());
        let directory = RamDirectory::create();
        let inner = Index::builder()
            .schema(schema.build())
            .settings(settings)
            .tokenizers(tokenizers)
            .single_segment_index_writer(directory.clone(), WRITER_BUDGET_BYTES)?;
        Ok(Self { inner, directory, fields, lengths: Vec::new() })
    }

    /// Adds the next document.
    pub(crate) fn add(&mut self, document: &Document) -> Result<(), Error> {
        if self.lengths.len() >= MAX_TOOLS {
            return Err(Error::TooManyTools { limit: MAX_TOOLS });
        }
        if self.inner.mem_usage() > MAX_WRITER_BYTES {
            return Err(Error::TooMuchText { tools: self.lengths.len(), limit: MAX_WRITER_BYTES });
        }
        let mut indexed = TantivyDocument::default();
        for (field, text) in self.fields.iter().zip(&document.texts).filter(|(_, text)| !text.is_empty()) {
            indexed.add_text(*field, text);
        }
        self.inner.add_document(indexed)?;
        self.lengths.push(document.lengths);
        Ok(())
    }

    /// Completes the index. `lexicon` has the terms of the added documents.
    pub(crate) fn finish(self, lexicon: Lexicon) -> Result<KeywordIndex, Error> {
        let Self { inner, directory, lengths, .. } = self;
        KeywordIndex::of(&inner.finalize()?, directory, lengths, lexicon)
    }
}

/// The posting lists of all tools, and the lengths of their fields.
pub(crate) struct KeywordIndex {
    postings: Postings,
    /// The files that the postings are read from.
    directory: RamDirectory,
    /// The number of terms in each field of each tool.
    lengths: Vec<[usize; FIELDS]>,
    /// The terms, each with the fields that contain it. It avoids most lookups in the term dictionaries, which would
    /// find nothing.
    lexicon: Lexicon,
    /// Cleared score accumulators of finished searches, at most [`MAX_IDLE_ACCUMULATORS`], for reuse.
    idle: Mutex<Vec<ScoreAccumulator>>,
}

/// The result of a keyword search.
pub(crate) struct Matches {
    /// Every tool that matches a term. The best is popped first.
    pub best: BinaryHeap<Candidate>,
    /// The weight of each term of the query: the fewer tools contain it, the higher.
    pub weights: Vec<f32>,
}

/// A tool that matches a query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Candidate {
    pub document: u32,
    pub score: f32,
    /// The matched terms of the query, one bit each.
    pub terms: u64,
    /// The matched fields, one bit each.
    pub fields: u8,
}

impl Eq for Candidate {}

impl Ord for Candidate {
    /// Orders by score. The lower number, which is the earlier name, wins a tie.
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
    fn of(
        index: &Index,
        directory: RamDirectory,
        lengths: Vec<[usize; FIELDS]>,
        lexicon: Lexicon,
    ) -> Result<Self, Error> {
        let schema = index.schema();
        let mut fields = Vec::new();
        for segment in index.searchable_segments()? {
            let segment = SegmentReader::open(&segment)?;
            for (field, weight) in Field::ALL.into_iter().zip(WEIGHTS) {
                let number = field as usize;
                let lengths = lengths.iter().map(|row| as_f32(row.get(number).copied().unwrap_or_default()));
                let average = lengths.clone().sum::<f32>() / as_f32(lengths.len()).max(1.0);
                let norm = |length: f32| {
                    let length = length / average.max(f32::MIN_POSITIVE);
                    weight / (1.0 - LENGTH_PENALTY + LENGTH_PENALTY * length)
                };
                let field = schema.get_field(field.as_str())?;
                let (postings, norms) = (segment.inverted_index(field)?, lengths.map(norm).collect());
                fields.push(IndexedField { number, field, postings, norms });
            }
        }
        let postings = Postings::new(fields, lexicon.len());
        Ok(Self { postings, directory, lengths, lexicon, idle: Mutex::default() })
    }

    /// Writes the index.
    pub(crate) fn encode(&self, bytes: &mut Vec<u8>) -> Result<(), Error> {
        put_count(bytes, self.lengths.len());
        self.lengths.iter().flatten().for_each(|length| put_count(bytes, *length));
        self.lexicon.encode(bytes);
        let index = Index::open(self.directory.clone())?;
        let mut files: Vec<_> = index.directory().list_managed_files().into_iter().collect();
        files.push(META.into());
        files.sort_unstable();
        files.dedup();
        put_count(bytes, files.len());
        for file in files {
            let content = self.directory.atomic_read(&file).map_err(tantivy::TantivyError::from)?;
            put_bytes(bytes, file.to_string_lossy().as_bytes());
            put_bytes(bytes, &content);
        }
        Ok(())
    }

    /// Reads an index that [`encode`](Self::encode) wrote. Returns `None` unless it has this many tools.
    pub(crate) fn decode(reader: &mut ByteReader<'_>, tools: usize) -> Option<Self> {
        if reader.count()? != tools {
            return None;
        }
        let lengths = reader.take(tools.checked_mul(FIELDS * size_of::<u32>())?)?;
        let mut lengths = ByteReader { rest: lengths };
        let mut rows = Vec::with_capacity(tools);
        for _ in 0..tools {
            let mut row = [0; FIELDS];
            for length in &mut row {
                *length = lengths.count()?;
            }
            rows.push(row);
        }
        let lexicon = Lexicon::decode(reader)?;
        let directory = RamDirectory::create();
        for _ in 0..reader.count()? {
            let (file, content) = (reader.text()?, reader.bytes()?);
            directory.atomic_write(Path::new(file), content).ok()?;
        }
        Self::of(&Index::open(directory.clone()).ok()?, directory, rows, lexicon).ok()
    }

    /// Returns the terms of all tools.
    pub(crate) fn lexicon(&self) -> &Lexicon {
        &self.lexicon
    }

    /// Returns true if any tool contains the term in any field.
    pub(crate) fn contains(&self, term: &str) -> bool {
        self.lexicon.fields(term) != 0
    }

    /// Returns every tool that matches a term.
    pub(crate) fn search(&self, terms: &[QueryTerm]) -> Result<Matches, Error> {
        let mut rows = self.idle().pop().unwrap_or_else(|| ScoreAccumulator::new(self.lengths.len()));
        let mut weights = Vec::with_capacity(terms.len());
        for (bit, term) in terms.iter().take(MAX_QUERY_TERMS).enumerate() {
            let mut variants = Vec::with_capacity(term.variants.len());
            for (variant, share) in &term.variants {
                if let Some((number, used)) = self.lexicon.find(variant) {
                    variants.push((self.postings.of(number, used, &mut rows.sums)?, *share));
                }
            }
            // The rarity of a term is that of the word itself. Its synonyms count only if no tool contains the word.
            let idf = self.idf(variants.first().map_or(0, |(postings, _)| postings.len()));
            weights.push(idf);
            match variants.as_slice() {
                [(postings, share)] => {
                    for Posting { document, frequency, fields } in postings.iter() {
                        rows.add(*document, Sum { frequency: share * frequency, fields: *fields }, idf, bit);
                    }
                }
                several => rows.add_together(several, idf, bit),
            }
        }
        let best = rows.take_matches().into();
        let mut idle = self.idle();
        if idle.len() < MAX_IDLE_ACCUMULATORS {
            idle.push(rows);
        }
        Ok(Matches { best, weights })
    }

    fn idle(&self) -> MutexGuard<'_, Vec<ScoreAccumulator>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the weight of a term that `documents` tools contain (the IDF of BM25, which is never negative).
    fn idf(&self, documents: usize) -> f32 {
        let (all, with) = (as_f32(self.lengths.len()), as_f32(documents));
        (1.0 + (all - with + 0.5) / (with + 0.5)).ln()
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts of terms and tools, far below 2^24, or not worth the digits"
)]
fn as_f32(count: usize) -> f32 {
    count as f32
}
