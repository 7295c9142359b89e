//! An inverted index: the tools that contain each term, with the weighted frequency of the term.

use std::collections::HashMap;
use std::ops::Range;

use bytes::Bytes;

use super::{FIELDS, as_f32};
use crate::cache::{ByteReader, put_bytes, put_count};
use crate::text::{Analyzer, each_term, words};
use crate::tool_text::ToolText;
use crate::{Error, Field};

/// The most tools of one index.
pub const MAX_TOOLS: usize = 1_000_000;
/// The most bytes that the occurrences of terms may take while an index is built.
const MAX_BUILD_BYTES: usize = 1024 * 1024 * 1024;

/// The weight of each field relative to the description, in the order of the fields. Round values from the middle of
/// the range in which the mean over the labelled sets hardly changes. Keywords and results, which those sets do not
/// have, are set by analogy with description and parameters.
const WEIGHTS: [f32; FIELDS] = [2.0, 1.0, 1.0, 1.0, 0.5, 0.3];

/// The length normalization of BM25 (`b`).
const LENGTH_PENALTY: f32 = 0.5;

/// The occurrences of a term in one tool, in the layout of the cache file: the number of the tool, the frequency over
/// all fields, weighted by field and normalized by field length, and the fields that contain the term, one bit each.
/// Numbers are little-endian.
pub(super) type Posting = [u8; size_of::<u32>() + size_of::<f32>() + size_of::<u8>()];

/// Returns the number of the tool.
pub(super) fn document(posting: &Posting) -> u32 {
    let [first, second, third, fourth, ..] = *posting;
    u32::from_le_bytes([first, second, third, fourth])
}

/// Returns the weighted frequency of the term.
pub(super) fn frequency(posting: &Posting) -> f32 {
    let [_, _, _, _, first, second, third, fourth, _] = *posting;
    f32::from_le_bytes([first, second, third, fourth])
}

/// Returns the fields that contain the term.
pub(super) fn fields(posting: &Posting) -> u8 {
    let [.., fields] = *posting;
    fields
}

/// The tools that contain a term, in order.
#[derive(Clone, Copy, Default)]
pub(super) struct PostingList<'a> {
    pub(super) postings: &'a [Posting],
    /// The highest frequency in the list.
    pub(super) max_frequency: f32,
}

/// The posting lists of all terms.
pub(super) struct InvertedIndex {
    /// The place of the posting list of each term in `postings`, and the highest frequency in it.
    terms: HashMap<Box<str>, (Range<usize>, f32)>,
    /// The posting lists, one after the other, each in the order of the tools: in memory, or mapped from the cache.
    postings: Bytes,
}

impl InvertedIndex {
    /// Returns the tools that contain a term.
    pub(super) fn postings(&self, term: &str) -> PostingList<'_> {
        let (postings, _) = self.postings.as_chunks();
        let list = self.terms.get(term).and_then(|(place, max_frequency)| {
            Some(PostingList { postings: postings.get(place.clone())?, max_frequency: *max_frequency })
        });
        list.unwrap_or_default()
    }

    /// Writes all posting lists.
    pub(super) fn encode(&self, bytes: &mut Vec<u8>) {
        let mut terms: Vec<_> = self.terms.iter().collect();
        terms.sort_unstable_by_key(|(_, (place, _))| place.start);
        put_count(bytes, terms.len());
        for (term, (place, max_frequency)) in terms {
            put_bytes(bytes, term.as_bytes());
            put_count(bytes, place.len());
            bytes.extend_from_slice(&max_frequency.to_le_bytes());
        }
        bytes.extend_from_slice(&self.postings);
    }

    /// Reads the posting lists that [`encode`](Self::encode) wrote to the end of `file`. The lists stay there.
    pub(super) fn decode(reader: &mut ByteReader<'_>, file: &Bytes) -> Option<Self> {
        let (mut terms, mut end) = (HashMap::new(), 0_usize);
        for _ in 0..reader.count()? {
            let (term, start) = (reader.text()?, end);
            end = start.checked_add(reader.count()?)?;
            terms.insert(term.into(), (start..end, f32::from_le_bytes(*reader.take_array()?)));
        }
        let postings = reader.take(end.checked_mul(size_of::<Posting>())?)?;
        Some(Self { terms, postings: file.slice_ref(postings) })
    }
}

/// A builder of an [`InvertedIndex`] from the texts of tools.
pub(super) struct InvertedIndexBuilder {
    analyzer: Analyzer,
    /// The number of each term.
    numbers: HashMap<Box<str>, usize>,
    /// The number of the stem of each word. Words recur, and stemming costs more than a lookup.
    stems: HashMap<Box<str>, usize>,
    /// The occurrences of each term, by its number.
    occurrences: Vec<Vec<Occurrence>>,
    /// The bytes of all occurrences.
    bytes: usize,
    /// The number of terms in each field of each tool.
    lengths: Vec<[usize; FIELDS]>,
}

/// The occurrences of a term in one field of a tool.
struct Occurrence {
    document: u32,
    field: u8,
    count: u32,
}

impl InvertedIndexBuilder {
    pub(super) fn new(analyzer: Analyzer) -> Self {
        Self {
            analyzer,
            numbers: HashMap::new(),
            stems: HashMap::new(),
            occurrences: Vec::new(),
            bytes: 0,
            lengths: Vec::new(),
        }
    }

    /// Adds the terms of the next tool.
    ///
    /// # Errors
    ///
    /// Returns an error if the index has [`MAX_TOOLS`] tools, or takes [`MAX_BUILD_BYTES`].
    pub(super) fn add(&mut self, text: &ToolText<'_>) -> Result<(), Error> {
        let tools = self.lengths.len();
        let document = u32::try_from(tools).ok().filter(|_| tools < MAX_TOOLS);
        let document = document.ok_or(Error::TooManyTools { limit: MAX_TOOLS })?;
        if self.bytes > MAX_BUILD_BYTES {
            return Err(Error::TooMuchText { tools, limit: MAX_BUILD_BYTES });
        }
        let mut lengths = [0; FIELDS];
        for (field, length) in Field::ALL.into_iter().zip(&mut lengths) {
            each_term(&words(text.get(field)), |word, has_stem| {
                let number = if has_stem { self.number_of_stem(word) } else { self.number(word) };
                self.count(number, document, field as u8);
                *length += 1;
            });
        }
        self.lengths.push(lengths);
        Ok(())
    }

    /// Counts one occurrence of a term.
    fn count(&mut self, number: usize, document: u32, field: u8) {
        let Some(occurrences) = self.occurrences.get_mut(number) else { return };
        match occurrences.last_mut() {
            Some(last) if last.document == document && last.field == field => last.count += 1,
            _ => {
                occurrences.push(Occurrence { document, field, count: 1 });
                self.bytes += size_of::<Occurrence>();
            }
        }
    }

    fn number(&mut self, term: &str) -> usize {
        if let Some(number) = self.numbers.get(term) {
            return *number;
        }
        let number = self.occurrences.len();
        self.numbers.insert(term.into(), number);
        self.occurrences.push(Vec::new());
        self.bytes += term.len() + size_of::<Vec<Occurrence>>();
        number
    }

    fn number_of_stem(&mut self, word: &str) -> usize {
        if let Some(number) = self.stems.get(word) {
            return *number;
        }
        let number = self.number(&self.analyzer.stem(word));
        self.stems.insert(word.into(), number);
        self.bytes += word.len() + size_of::<usize>();
        number
    }

    /// Completes the index. Returns it with the number of tools.
    pub(super) fn finish(self) -> (InvertedIndex, usize) {
        let tools = self.lengths.len();
        let mut sums = [0.0; FIELDS];
        for lengths in &self.lengths {
            for (sum, length) in sums.iter_mut().zip(lengths) {
                *sum += as_f32(*length);
            }
        }
        let averages = sums.map(|sum: f32| (sum / as_f32(tools).max(1.0)).max(f32::MIN_POSITIVE));
        let norms = |lengths: &[usize; FIELDS]| {
            let mut norms = WEIGHTS;
            for ((norm, length), average) in norms.iter_mut().zip(lengths).zip(&averages) {
                *norm /= 1.0 - LENGTH_PENALTY + LENGTH_PENALTY * (as_f32(*length) / average);
            }
            norms
        };
        let norms: Vec<[f32; FIELDS]> = self.lengths.iter().map(norms).collect();
        let mut places = Vec::with_capacity(self.occurrences.len());
        let (mut postings, mut count) = (Vec::new(), 0);
        for occurrences in self.occurrences {
            let (start, mut max_frequency) = (count, 0.0_f32);
            for of_one in occurrences.chunk_by(|a, b| a.document == b.document) {
                let Some(document) = of_one.first().map(|first| first.document) else { continue };
                let Some(norms) = norms.get(document as usize) else { continue };
                let (mut frequency, mut fields) = (0.0, 0_u8);
                for Occurrence { field, count, .. } in of_one {
                    let norm = norms.get(usize::from(*field)).copied().unwrap_or_default();
                    frequency += norm * as_f32(*count as usize);
                    fields |= 1 << field;
                }
                postings.extend_from_slice(&document.to_le_bytes());
                postings.extend_from_slice(&frequency.to_le_bytes());
                postings.push(fields);
                max_frequency = max_frequency.max(frequency);
                count += 1;
            }
            places.push((start..count, max_frequency));
        }
        let terms =
            self.numbers.into_iter().filter_map(|(term, number)| Some((term, places.get(number)?.clone())));
        (InvertedIndex { terms: terms.collect(), postings: postings.into() }, tools)
    }
}
