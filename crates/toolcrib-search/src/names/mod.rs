//! The exact-name guarantee: a query that names tools finds them.
//!
//! Spellings are compared without case, accents and separators, so `ns::get_user`, `ns.getUser` and `ns__get_user` have
//! the same key. A query names a tool when it contains
//!
//! - its full name, in any such spelling; or
//! - its bare name, if that has several words and is written as one (`get_user`, `getUser`, `get-user`); or
//! - its bare name otherwise (`read`, `get user`), if it is clearly meant as a name. That is so if the query holds
//!   nothing else but request words ("please search"); if the name is in backticks or before `()`; if it follows "use",
//!   "call" and the like, or precedes "tool" or "function"; or if it is one word that no other tool's text contains and
//!   that is not a usual word for what tools do (one with [synonyms](crate::keyword::synonyms)).
//!
//! Names made of stop words only (`all`, `how_to`) count if they are the whole query, are written in full or in
//! backticks, or are written literally behind "use" and the like. Names with other punctuation inside count if they are
//! written literally. A name inside a longer name of the same query does not count: `files.read` does not name
//! `database.read`.

pub(crate) mod aliases;
pub(crate) mod did_you_mean;

use std::collections::{HashMap, HashSet};

use toolcrib_model::QualifiedName;

use crate::text::{Gap, Word, is_stop, words};

/// Words that mark the following word as the name of a tool.
const CUES_BEFORE: &[&str] =
    &["use", "using", "call", "calling", "invoke", "execute", "via", "utilise", "utilize", "utiliser"];
/// Words that mark the preceding word as the name of a tool.
const CUES_BEHIND: &[&str] = &["tool", "function", "plugin", "outil", "fonction"];

/// The keys of all names, sorted, so that a query is matched as in a trie.
#[derive(Default)]
pub(crate) struct NameIndex {
    keys: Vec<NameKey>,
}

struct NameKey {
    text: String,
    document: u32,
    form: NameForm,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum NameForm {
    Full,
    Bare {
        /// True if the name has several words.
        compound: bool,
        /// True if the word can only be a name when it is written as one word.
        distinctive: bool,
    },
}

/// A tool that a query names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mention {
    /// The number of the tool.
    pub document: u32,
    /// The range of query words that name it.
    pub span: (usize, usize),
    /// True if the name is written literally.
    pub literal: bool,
    /// True if it is the full name.
    pub full: bool,
}

impl NameIndex {
    /// Indexes the names in the order of their numbers. `is_distinctive` returns true if at most the given number of
    /// tools use a folded word, and the word can only be a name.
    pub(crate) fn new(names: &[QualifiedName], is_distinctive: impl Fn(&str, usize) -> bool) -> Self {
        let mut bearers: HashMap<&str, usize> = HashMap::new();
        for name in names {
            *bearers.entry(name.name()).or_default() += 1;
        }
        let mut keys = Vec::with_capacity(names.len() * 2);
        for (document, name) in (0u32..).zip(names) {
            let parts = words(name.name());
            let bare: String = parts.iter().map(|word| word.text.as_str()).collect();
            let namespace: String = words(name.namespace()).into_iter().map(|word| word.text).collect();
            if bare.is_empty() {
                continue;
            }
            let same_name = bearers.get(name.name()).copied().unwrap_or(1);
            let form =
                NameForm::Bare { compound: parts.len() > 1, distinctive: is_distinctive(&bare, same_name) };
            keys.push(NameKey { text: format!("{namespace}{bare}"), document, form: NameForm::Full });
            keys.push(NameKey { text: bare, document, form });
        }
        keys.sort_unstable_by(|a, b| (&a.text, a.document, a.form).cmp(&(&b.text, b.document, b.form)));
        Self { keys }
    }

    /// Returns the number of each tool with the joined words of its name, once without and once with the namespace.
    pub(crate) fn spellings(&self) -> impl Iterator<Item = (u32, &str)> {
        self.keys.iter().map(|key| (key.document, key.text.as_str()))
    }

    /// Returns the visible tools that the query names, in order of mention, each once.
    pub(crate) fn mentions(
        &self,
        names: &[QualifiedName],
        text: &str,
        words: &[Word],
        is_visible: impl Fn(&QualifiedName) -> bool,
    ) -> Vec<Mention> {
        let mut found: Vec<Mention> = Vec::new();
        for from in 0..words.len() {
            self.mentions_at(from, words, &mut |mention, form| {
                let Some(name) = names.get(mention.document as usize) else { return };
                let literal = is_literal(name, mention.span, words, text);
                if is_name(form, literal, mention.span, words, text) && is_visible(name) {
                    found.push(Mention { literal, ..mention });
                }
            });
        }
        let spans: Vec<(usize, usize)> = found.iter().map(|mention| mention.span).collect();
        found.retain(|mention| {
            let (from, to) = mention.span;
            !spans.iter().any(|&(start, end)| start <= from && to <= end && end - start > to - from)
        });
        found.sort_by_key(|mention| (mention.span.0, !mention.literal, !mention.full, mention.document));
        let mut seen = HashSet::new();
        found.retain(|mention| seen.insert(mention.document));
        found
    }

    /// Calls `found` with every key that begins at word `from` and ends with a word.
    fn mentions_at(&self, from: usize, words: &[Word], found: &mut impl FnMut(Mention, NameForm)) {
        let mut range = self.keys.as_slice();
        let mut written = String::new();
        for (to, word) in words.iter().enumerate().skip(from) {
            written.push_str(&word.text);
            let skip = range.partition_point(|key| key.text.as_str() < written.as_str());
            let rest = range.get(skip..).unwrap_or_default();
            let length = rest.partition_point(|key| key.text.starts_with(&written));
            range = rest.get(..length).unwrap_or_default();
            if range.is_empty() {
                break;
            }
            if is_inside_word(words, from) || is_inside_word(words, to + 1) {
                continue;
            }
            for key in range.iter().take_while(|key| key.text == written) {
                let span = (from, to + 1);
                found(
                    Mention {
                        document: key.document,
                        span,
                        literal: false,
                        full: key.form == NameForm::Full,
                    },
                    key.form,
                );
            }
        }
    }
}

/// Returns true if the word and the one before it are parts of one written word.
fn is_inside_word(words: &[Word], at: usize) -> bool {
    let Some((previous, word)) =
        at.checked_sub(1).and_then(|before| Some((words.get(before)?, words.get(at)?)))
    else {
        return false;
    };
    match word.gap {
        Gap::Compound => true,
        Gap::Fused => !word.unspaced && !previous.unspaced,
        Gap::Linked | Gap::Spaced | Gap::Break => false,
    }
}

/// Applies the rules of the module documentation.
fn is_name(form: NameForm, literal: bool, span: (usize, usize), words: &[Word], text: &str) -> bool {
    let (from, to) = span;
    let inside = words.get(from..to).unwrap_or_default();
    let mut outside = words.iter().take(from).chain(words.iter().skip(to));
    let gaps = || inside.iter().skip(1).map(|word| word.gap);
    if gaps().any(|gap| gap == Gap::Break) && !literal {
        return false;
    }
    let only_stop_words = inside.iter().all(is_stop);
    let is_whole = if only_stop_words { outside.next().is_none() } else { outside.all(is_stop) };
    if is_whole || is_code(text, words, span) {
        return true;
    }
    let is_spaced = gaps().any(|gap| gap == Gap::Spaced);
    let NameForm::Bare { compound, distinctive } = form else {
        return !is_spaced || literal || !inside.iter().any(is_stop);
    };
    if compound && !only_stop_words && inside.len() > 1 && !is_spaced {
        return true;
    }
    let gap_at = |at: usize| words.get(at).map(|word| word.gap);
    if gap_at(from) == Some(Gap::Linked) || gap_at(to) == Some(Gap::Linked) {
        return false;
    }
    let is_number = inside.iter().all(|word| word.text.chars().all(char::is_numeric));
    let before =
        from.checked_sub(1).and_then(|at| words.get(at)).filter(|_| gap_at(from) == Some(Gap::Spaced));
    let behind = words.get(to).filter(|word| word.gap == Gap::Spaced);
    if only_stop_words && !literal {
        return false;
    }
    (distinctive && !is_number && !is_spaced && !only_stop_words)
        || before.is_some_and(|word| CUES_BEFORE.contains(&word.text.as_str()))
        || behind.is_some_and(|word| CUES_BEHIND.contains(&word.text.as_str()))
}

/// Returns true if the words are in backticks or before `()`.
fn is_code(text: &str, words: &[Word], (from, to): (usize, usize)) -> bool {
    let Some((start, end)) = bytes_of(words, (from, to)) else { return false };
    let (before, behind) = (text.get(..start).unwrap_or_default(), text.get(end..).unwrap_or_default());
    (before.ends_with('`') && behind.starts_with('`')) || behind.starts_with("()")
}

fn bytes_of(words: &[Word], (from, to): (usize, usize)) -> Option<(usize, usize)> {
    Some((words.get(from)?.start, words.get(to.checked_sub(1)?)?.end))
}

/// Returns true if the words are the name as it is written, apart from punctuation at its ends.
fn is_literal(name: &QualifiedName, span: (usize, usize), words: &[Word], text: &str) -> bool {
    let written = bytes_of(words, span).and_then(|(start, end)| text.get(start..end)).unwrap_or_default();
    let is_edge = |c: char| !c.is_alphanumeric();
    if written == name.name().trim_matches(is_edge) {
        return true;
    }
    let behind_namespace = written.strip_prefix(name.namespace().trim_start_matches(is_edge));
    let separator =
        behind_namespace.and_then(|rest| rest.strip_suffix(name.name().trim_end_matches(is_edge)));
    separator.is_some_and(|separator| matches!(separator, "::" | "." | "__" | "/" | ":"))
}
