//! The terms of all tools, each once, and the tokenizer by which they enter the index without being analyzed twice.

use std::collections::HashMap;
use std::sync::Arc;

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

use crate::cache::{ByteReader, put_bytes, put_count};
use crate::text::{Analyzer, each_term, words};

/// The character behind each term in a text for the index. No word contains it.
pub(crate) const SEPARATOR: char = '\n';

/// The name of [`SeparatedTokenizer`] among the tokenizers of the index.
pub(crate) const SEPARATED: &str = "separated";

/// The terms of all tools.
#[derive(Default)]
pub(crate) struct Lexicon {
    numbers: HashMap<Arc<str>, usize>,
    terms: Vec<LexiconTerm>,
}

/// A builder of a [`Lexicon`] from the texts of tools.
pub(crate) struct LexiconBuilder {
    analyzer: Analyzer,
    lexicon: Lexicon,
    /// The number of the stem of each word. Words recur, and stemming costs more than a lookup.
    stems: HashMap<Box<str>, usize>,
}

/// A term and its occurrences.
pub(crate) struct LexiconTerm {
    pub(crate) text: Arc<str>,
    /// The fields that contain it, one bit each.
    pub(crate) fields: u8,
    /// The number of tools that contain it.
    pub(crate) tools: usize,
    /// One more than the number of the last tool that contains it.
    last: usize,
}

impl Lexicon {
    /// Returns the fields that contain a term, one bit each.
    pub(crate) fn fields(&self, term: &str) -> u8 {
        self.used(term).map_or(0, |used| used.fields)
    }

    /// Returns the number of tools that contain a term.
    pub(crate) fn tools(&self, term: &str) -> usize {
        self.used(term).map_or(0, |used| used.tools)
    }

    /// Writes all terms.
    pub(crate) fn encode(&self, bytes: &mut Vec<u8>) {
        put_count(bytes, self.terms.len());
        for LexiconTerm { text, fields, tools, .. } in &self.terms {
            put_bytes(bytes, text.as_bytes());
            bytes.push(*fields);
            put_count(bytes, *tools);
        }
    }

    /// Reads terms that [`encode`](Self::encode) wrote.
    pub(crate) fn decode(reader: &mut ByteReader<'_>) -> Option<Self> {
        let mut lexicon = Self::default();
        for _ in 0..reader.count()? {
            let number = lexicon.number(reader.text()?);
            let used = lexicon.terms.get_mut(number)?;
            (used.fields, used.tools) = (reader.byte()?, reader.count()?);
        }
        Some(lexicon)
    }

    /// Returns a term and its number.
    pub(crate) fn find(&self, term: &str) -> Option<(usize, &LexiconTerm)> {
        let number = *self.numbers.get(term)?;
        Some((number, self.terms.get(number)?))
    }

    /// Returns the number of terms. The number of each term is below it.
    pub(crate) fn len(&self) -> usize {
        self.terms.len()
    }

    fn used(&self, term: &str) -> Option<&LexiconTerm> {
        Some(self.find(term)?.1)
    }

    fn number(&mut self, term: &str) -> usize {
        if let Some(number) = self.numbers.get(term) {
            return *number;
        }
        let (text, number): (Arc<str>, usize) = (term.into(), self.terms.len());
        self.numbers.insert(Arc::clone(&text), number);
        self.terms.push(LexiconTerm { text, fields: 0, tools: 0, last: 0 });
        number
    }
}

impl LexiconBuilder {
    pub(crate) fn new(analyzer: Analyzer) -> Self {
        Self { analyzer, lexicon: Lexicon::default(), stems: HashMap::new() }
    }

    /// Adds the terms of one field of a tool. Returns them as a text for the index, and their count.
    ///
    /// Tools must be added in the order of their numbers.
    pub(crate) fn read(&mut self, text: &str, field: usize, tool: usize) -> (String, usize) {
        let (mut separated, mut length) = (String::new(), 0);
        each_term(&words(text), |word, has_stem| {
            let number = if has_stem { self.number_of_stem(word) } else { self.lexicon.number(word) };
            let Some(term) = self.lexicon.terms.get_mut(number) else { return };
            term.fields |= 1 << field;
            if term.last <= tool {
                term.last = tool + 1;
                term.tools += 1;
            }
            separated.push_str(&term.text);
            separated.push(SEPARATOR);
            length += 1;
        });
        (separated, length)
    }

    /// Returns all terms that were added.
    pub(crate) fn finish(self) -> Lexicon {
        self.lexicon
    }

    fn number_of_stem(&mut self, word: &str) -> usize {
        if let Some(number) = self.stems.get(word) {
            return *number;
        }
        let number = self.lexicon.number(&self.analyzer.stem(word));
        self.stems.insert(word.into(), number);
        number
    }
}

/// A tokenizer that splits a text at its separators.
#[derive(Clone, Default)]
pub(crate) struct SeparatedTokenizer {
    token: Token,
}

/// The remaining text of a token stream.
pub(crate) struct SeparatedTokenStream<'a> {
    text: &'a str,
    token: &'a mut Token,
}

impl Tokenizer for SeparatedTokenizer {
    type TokenStream<'a> = SeparatedTokenStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> SeparatedTokenStream<'a> {
        self.token.reset();
        SeparatedTokenStream { text, token: &mut self.token }
    }
}

impl TokenStream for SeparatedTokenStream<'_> {
    fn advance(&mut self) -> bool {
        let Some((term, rest)) = self.text.split_once(SEPARATOR) else { return false };
        self.token.text.clear();
        self.token.text.push_str(term);
        self.token.position = 0;
        self.text = rest;
        true
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}
