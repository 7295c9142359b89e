//! The terms of all tools, each once; and the way on which they get into the index without being taken apart again.

use std::collections::HashMap;
use std::sync::Arc;

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

use crate::text::{Analyzer, each_term, words};

/// What stands behind each term in a text that the index reads. No word has it inside.
pub(crate) const SEPARATOR: char = '\n';

/// The name of [`Separated`] among the tokenizers of the index.
pub(crate) const SEPARATED: &str = "separated";

/// The terms of all tools.
pub(crate) struct Lexicon {
    analyzer: Analyzer,
    numbers: HashMap<Arc<str>, usize>,
    terms: Vec<Use>,
    /// The number of the term that a word is stemmed to: words come again and again, and stemming costs more than a
    /// look.
    stems: HashMap<Box<str>, usize>,
}

/// A term, and where it stands.
struct Use {
    text: Arc<str>,
    /// One bit for each field.
    fields: u8,
    /// How many tools have it.
    tools: usize,
    /// One more than the number of the last tool that has it.
    last: usize,
}

impl Lexicon {
    pub(crate) fn new(analyzer: Analyzer) -> Self {
        Self { analyzer, numbers: HashMap::new(), terms: Vec::new(), stems: HashMap::new() }
    }

    /// Takes the terms of one field of a tool, and gives them as a text that the index reads, with their number. Tools
    /// come in the order of their numbers.
    pub(crate) fn read(&mut self, text: &str, field: usize, tool: usize) -> (String, usize) {
        let (mut separated, mut length) = (String::new(), 0);
        each_term(&words(text), |word, has_stem| {
            let number = self.number(word, has_stem);
            let Some(term) = self.terms.get_mut(number) else { return };
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

    /// The fields that a term stands in, one bit each.
    pub(crate) fn fields(&self, term: &str) -> u8 {
        self.used(term).map_or(0, |used| used.fields)
    }

    /// How many tools have a term.
    pub(crate) fn tools(&self, term: &str) -> usize {
        self.used(term).map_or(0, |used| used.tools)
    }

    /// Gives up what only serves to read more.
    pub(crate) fn closed(self) -> Self {
        Self { stems: HashMap::new(), ..self }
    }

    fn used(&self, term: &str) -> Option<&Use> {
        self.terms.get(*self.numbers.get(term)?)
    }

    fn number(&mut self, word: &str, has_stem: bool) -> usize {
        if !has_stem {
            return self.number_of_term(word);
        }
        if let Some(number) = self.stems.get(word) {
            return *number;
        }
        let number = self.number_of_term(&self.analyzer.stem(word));
        self.stems.insert(word.into(), number);
        number
    }

    fn number_of_term(&mut self, term: &str) -> usize {
        if let Some(number) = self.numbers.get(term) {
            return *number;
        }
        let (text, number): (Arc<str>, usize) = (term.into(), self.terms.len());
        self.numbers.insert(Arc::clone(&text), number);
        self.terms.push(Use { text, fields: 0, tools: 0, last: 0 });
        number
    }
}

/// Cuts a text at its separators.
#[derive(Clone, Default)]
pub(crate) struct Separated {
    token: Token,
}

/// What is left of a text.
pub(crate) struct Rest<'a> {
    text: &'a str,
    token: &'a mut Token,
}

impl Tokenizer for Separated {
    type TokenStream<'a> = Rest<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Rest<'a> {
        self.token.reset();
        Rest { text, token: &mut self.token }
    }
}

impl TokenStream for Rest<'_> {
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
