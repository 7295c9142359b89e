//! An index of documents by tantivy.

use ::tantivy::collector::TopDocs;
use ::tantivy::indexer::NoMergePolicy;
use ::tantivy::query::BooleanQuery;
use ::tantivy::schema::{FAST, Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use ::tantivy::tokenizer::{
    Language, LowerCaser, RemoveLongFilter, SimpleTokenizer, Stemmer, StopWordFilter, TextAnalyzer,
};
use ::tantivy::{Index, IndexReader, IndexWriter, ReloadPolicy, Term, doc};

/// The name of the analyzer.
const ANALYZER: &str = "english";

/// The maximum length of an indexed word, in bytes. Longer ones are no words.
const MAX_WORD_BYTES: usize = 64;

/// The memory in which documents are indexed before they become a segment.
const WRITER_BYTES: usize = 64 * 1024 * 1024;

/// The maximum number of different words of a query. The others are ignored.
const MAX_QUERY_TERMS: usize = 64;

/// The name of the field with the number of a document.
const NUMBER: &str = "number";

/// An index in memory of whole documents, ranked by BM25.
pub(super) struct TantivyIndex {
    text: Field,
    index: Index,
    reader: IndexReader,
}

impl TantivyIndex {
    pub(super) fn build<'a>(texts: impl Iterator<Item = &'a str>) -> ::tantivy::Result<Self> {
        let indexing = TextFieldIndexing::default()
            .set_tokenizer(ANALYZER)
            .set_index_option(IndexRecordOption::WithFreqs);
        let mut schema = Schema::builder();
        let number = schema.add_u64_field(NUMBER, FAST);
        let text = schema.add_text_field("text", TextOptions::default().set_indexing_options(indexing));
        let index = Index::create_in_ram(schema.build());
        index.tokenizers().register(ANALYZER, analyzer());

        let mut writer: IndexWriter = index.writer_with_num_threads(1, WRITER_BYTES)?;
        // The index is written once: merges would go on in the background.
        writer.set_merge_policy(Box::new(NoMergePolicy));
        for (position, document) in (0_u64..).zip(texts) {
            writer.add_document(doc!(number => position, text => document))?;
        }
        writer.commit()?;
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        Ok(Self { text, index, reader })
    }

    /// Returns the numbers of the documents that match best, best first, with their relevance.
    pub(super) fn search(&self, words: &str, limit: usize) -> ::tantivy::Result<Vec<(usize, f64)>> {
        let terms = self.terms(words)?;
        let searcher = self.reader.searcher();
        let mut whole = 0.0;
        for term in &terms {
            whole += idf(searcher.doc_freq(term)?, searcher.num_docs());
        }
        let query = BooleanQuery::new_multiterms_query(terms);
        let mut matches = Vec::new();
        for (score, address) in searcher.search(&query, &TopDocs::with_limit(limit).order_by_score())? {
            let numbers = searcher.segment_reader(address.segment_ord).fast_fields().u64(NUMBER)?;
            let number = numbers.first(address.doc_id).and_then(|number| usize::try_from(number).ok());
            matches.extend(number.map(|number| (number, (f64::from(score) / whole).min(1.0))));
        }
        Ok(matches)
    }

    /// Returns the different words of a query, as they are in the index. The query has no syntax: models write it.
    fn terms(&self, words: &str) -> ::tantivy::Result<Vec<Term>> {
        let mut analyzer = self.index.tokenizer_for_field(self.text)?;
        let mut stream = analyzer.token_stream(words);
        let mut terms = Vec::new();
        while terms.len() < MAX_QUERY_TERMS && stream.advance() {
            let term = Term::from_field_text(self.text, &stream.token().text);
            if !terms.contains(&term) {
                terms.push(term);
            }
        }
        Ok(terms)
    }
}

/// Returns the analyzer of documents and queries: English stems, without the words that every text has.
fn analyzer() -> TextAnalyzer {
    // Without the words of a language, none is left out.
    let stop_words = StopWordFilter::new(Language::English);
    TextAnalyzer::builder(SimpleTokenizer::default())
        .filter(RemoveLongFilter::limit(MAX_WORD_BYTES))
        .filter(LowerCaser)
        .filter(stop_words.unwrap_or_else(|| StopWordFilter::remove([])))
        .filter(Stemmer::new(Language::English))
        .build()
}

/// Returns the weight of a word in BM25: the score of a document of average length that has it once.
#[expect(clippy::cast_precision_loss, reason = "weights of words are not exact")]
fn idf(with_word: u64, documents: u64) -> f64 {
    let (with_word, documents) = (with_word as f64, documents as f64);
    (1.0 + (documents - with_word + 0.5) / (with_word + 0.5)).ln()
}

impl std::fmt::Debug for TantivyIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TantivyIndex").finish_non_exhaustive()
    }
}
