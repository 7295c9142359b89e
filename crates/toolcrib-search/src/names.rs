//! The exact-name guarantee: which tools a query names.
//!
//! A spelling is compared without case, accents and separators, so `ns::get_user`, `ns.get_user`, `ns__get_user`,
//! `getUser` and `get user` all lead to the same key. A query names a tool when it contains
//!
//! - its full name, or
//! - its bare name, when that has several parts (`get_user`) or is written in several words (`air quality` for
//!   `airquality`); not when all of them are stop words, as in `how_to`; or
//! - its bare name of one word, when it is clear that the name is meant and not the word: the query holds nothing
//!   else but words of asking ("please search"); or it stands in quotes or backticks or before `()`; or behind "use",
//!   "call" and the like, or before "tool", "function" and the like; or no other tool's text has the word.
//!
//! A name inside a longer name of the same query is not meant: `files.read` does not name `database.read`.

use std::collections::HashMap;

use toolcrib_model::QualifiedName;

use crate::text::{Gap, Word, is_stop, words};

/// The most words of a query that one name may take.
const MAX_NAME_WORDS: usize = 32;

/// Words behind which a single word is the name of a tool.
const CUES_BEFORE: &[&str] = &["use", "using", "call", "calling", "invoke", "execute", "via", "utilise", "utilize", "utiliser"];
/// Words before which a single word is the name of a tool.
const CUES_BEHIND: &[&str] = &["tool", "function", "plugin", "api", "action", "command", "outil"];

/// The keys of all names, sorted, so that a query is matched like in a trie.
#[derive(Default)]
pub(crate) struct Names {
    keys: Vec<Key>,
}

struct Key {
    text: String,
    document: u32,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Full,
    Compound,
    OneWord { distinctive: bool },
}

/// A tool that a query names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mention {
    /// The number of the tool.
    pub document: u32,
    /// The words of the query that name it: the first, and the one behind the last.
    pub span: (usize, usize),
    /// Whether it is written letter for letter.
    pub literal: bool,
    /// Whether it is the full name.
    pub full: bool,
}

impl Names {
    /// Takes the names in the order of their numbers. `is_distinctive` says of a folded word whether no more
    /// than so many tools use it.
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
            let kind = match parts.as_slice() {
                [only] => Kind::OneWord { distinctive: is_distinctive(&only.text, bearers.get(name.name()).copied().unwrap_or(1)) },
                _ => Kind::Compound,
            };
            keys.push(Key { text: format!("{namespace}{bare}"), document, kind: Kind::Full });
            keys.push(Key { text: bare, document, kind });
        }
        keys.sort_unstable_by(|a, b| (&a.text, a.document, a.kind).cmp(&(&b.text, b.document, b.kind)));
        Self { keys }
    }

    /// The visible tools that the query names, in order of mention, each once.
    pub(crate) fn mentions(
        &self,
        names: &[QualifiedName],
        text: &str,
        words: &[Word],
        is_visible: impl Fn(&QualifiedName) -> bool,
    ) -> Vec<Mention> {
        let mut found: Vec<Mention> = Vec::new();
        for from in 0..words.len() {
            self.mentions_at(from, words, &mut |mention, kind| {
                let Some(name) = names.get(mention.document as usize) else { return };
                if is_meant(kind, mention.span, words, text) && is_visible(name) {
                    found.push(Mention { literal: is_literal(name, mention.span, words, text), ..mention });
                }
            });
        }
        let spans: Vec<(usize, usize)> = found.iter().map(|mention| mention.span).collect();
        found.retain(|mention| {
            let (from, to) = mention.span;
            !spans.iter().any(|&(start, end)| start <= from && to <= end && end - start > to - from)
        });
        found.sort_by_key(|mention| (mention.span.0, !mention.literal, !mention.full, mention.document));
        let mut seen = std::collections::HashSet::new();
        found.retain(|mention| seen.insert(mention.document));
        found
    }

    /// Every key that begins at word `from` and ends with a word.
    fn mentions_at(&self, from: usize, words: &[Word], found: &mut impl FnMut(Mention, Kind)) {
        let mut range = self.keys.as_slice();
        let mut written = String::new();
        for (to, word) in words.iter().enumerate().skip(from).take(MAX_NAME_WORDS) {
            if to > from && word.gap == Gap::Break {
                break;
            }
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
                found(Mention { document: key.document, span, literal: false, full: key.kind == Kind::Full }, key.kind);
            }
        }
    }
}

/// Whether the word and the one before it are parts of one written word.
fn is_inside_word(words: &[Word], at: usize) -> bool {
    let Some((previous, word)) = at.checked_sub(1).and_then(|before| Some((words.get(before)?, words.get(at)?))) else {
        return false;
    };
    match word.gap {
        Gap::Compound => true,
        Gap::Fused => !word.unspaced && !previous.unspaced,
        Gap::Linked | Gap::Spaced | Gap::Break => false,
    }
}

fn is_meant(kind: Kind, (from, to): (usize, usize), words: &[Word], text: &str) -> bool {
    let inside = words.get(from..to).unwrap_or_default();
    let outside = || words.iter().take(from).chain(words.iter().skip(to));
    let only_stop_words = inside.iter().all(is_stop);
    let is_whole = if only_stop_words { outside().next().is_none() } else { outside().all(is_stop) };
    if is_whole {
        return true;
    }
    let spaced = words.get(from + 1..to).unwrap_or_default().iter().any(|w| w.gap == Gap::Spaced);
    if crate::tune("NOEXACT", 0.0) > 0.0 { return false; }
    if spaced && (kind != Kind::Full || crate::tune("SPACEDFULL", 1.0) == 0.0) && crate::tune("SPACED", 1.0) == 0.0 { return false; }
    if spaced && crate::tune("SPACED", 1.0) > 1.0 && inside.len() < crate::tune("SPACED", 1.0) as usize { return false; }
    match kind {
        Kind::Full => true,
        Kind::Compound => !only_stop_words,
        Kind::OneWord { .. } if inside.len() > 1 => !only_stop_words,
        Kind::OneWord { distinctive } => {
            let Some(word) = inside.first() else { return false };
            if is_quoted(text, word) {
                return true;
            }
            let is_linked = |at: usize| words.get(at).is_some_and(|word| word.gap == Gap::Linked);
            if only_stop_words || is_linked(from) || is_linked(to) {
                return false;
            }
            let before = from.checked_sub(1).and_then(|at| words.get(at)).filter(|_| word.gap == Gap::Spaced);
            let behind = words.get(to).filter(|word| word.gap == Gap::Spaced);
            distinctive && !word.text.chars().all(char::is_numeric)
                || before.is_some_and(|word| CUES_BEFORE.contains(&word.text.as_str()))
                || behind.is_some_and(|word| CUES_BEHIND.contains(&word.text.as_str()))
        }
    }
}

fn is_quoted(text: &str, word: &Word) -> bool {
    let before = text.get(..word.start).and_then(|text| text.chars().next_back());
    let behind = text.get(word.end..).unwrap_or_default();
    let closing = match before {
        Some(quote @ ('"' | '\'' | '`')) => Some(quote),
        Some('“') => Some('”'),
        Some('‘') => Some('’'),
        Some('«') => Some('»'),
        Some('「') => Some('」'),
        _ => None,
    };
    closing.is_some_and(|quote| behind.starts_with(quote)) || behind.starts_with("()")
}

fn is_literal(name: &QualifiedName, (from, to): (usize, usize), words: &[Word], text: &str) -> bool {
    let (Some(first), Some(last)) = (words.get(from), to.checked_sub(1).and_then(|at| words.get(at))) else { return false };
    let written = text.get(first.start..last.end).unwrap_or_default();
    let rest = written.strip_prefix(name.namespace()).and_then(|rest| rest.strip_suffix(name.name()));
    written == name.name() || rest.is_some_and(|separator| matches!(separator, "::" | "." | "__" | "/" | ":"))
}
