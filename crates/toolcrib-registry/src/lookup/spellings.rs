//! The index of all spellings of tool names.

use std::collections::HashMap;
use std::sync::OnceLock;

use smallvec::SmallVec;
use toolcrib_model::QualifiedName;
use toolcrib_model::name::NAMESPACE_SEPARATOR;
use toolcrib_model::text::words_of_name;

/// Separators between namespace and name in texts for people and in function-calling APIs.
const LOOSE_SEPARATORS: [&str; 2] = [".", "__"];

/// The form of a spelling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// With `::`, which cannot be a part of a name; it means one name and nothing else.
    Qualified,
    /// With a separator that may also be a part of a name.
    Loose,
    /// Without the namespace.
    Bare,
}

/// The names behind each spelling, as positions in the sorted list of names.
#[derive(Debug, Default)]
pub(crate) struct Spellings {
    by_text: HashMap<Box<str>, Meanings>,
    /// The names behind each folded spelling, computed at the first lookup.
    folded: OnceLock<HashMap<Box<str>, SmallVec<[usize; 1]>>>,
}

/// The names that a text may mean; mostly one.
type Meanings = SmallVec<[(Form, usize); 1]>;

/// The number of spellings of a name.
const FORMS: usize = 2 + LOOSE_SEPARATORS.len();

impl Spellings {
    pub(crate) fn new<'a>(names: impl ExactSizeIterator<Item = &'a QualifiedName>) -> Self {
        let mut by_text: HashMap<Box<str>, Meanings> = HashMap::with_capacity(names.len() * FORMS);
        for (at, name) in names.enumerate() {
            let mut add = |text: String, form| by_text.entry(text.into()).or_default().push((form, at));
            add(name.to_string(), Form::Qualified);
            for separator in LOOSE_SEPARATORS {
                add(format!("{}{separator}{}", name.namespace(), name.name()), Form::Loose);
            }
            add(name.name().to_owned(), Form::Bare);
        }
        Self { by_text, folded: OnceLock::new() }
    }

    /// Returns the names that a text may mean, sorted.
    pub(crate) fn find(&self, text: &str) -> impl Iterator<Item = usize> {
        self.by_text.get(text).map_or(&[][..], SmallVec::as_slice).iter().map(|(_, at)| *at)
    }

    /// Returns the names that a text means without regard to case and to the kind of separators, sorted; then those
    /// that it means if changes of case separate words too. `names` are the names that the spellings were made of. A
    /// text with `::` means one tool and nothing else, so it is not folded.
    pub(crate) fn find_folded<'a>(
        &self,
        text: &str,
        names: impl Iterator<Item = &'a QualifiedName>,
    ) -> [&[usize]; 2] {
        if text.contains(NAMESPACE_SEPARATOR) || !is_separated(text) {
            return [&[], &[]];
        }
        // `words_of_name` separates words at any other character too, and a name with such characters only resembles
        // that of a tool.
        let is_plain = text.chars().all(|c| c.is_alphanumeric() || is_separator(c));
        let folded = self.folded.get_or_init(|| {
            let mut folded: HashMap<Box<str>, SmallVec<[usize; 1]>> = HashMap::new();
            for (at, name) in names.enumerate() {
                let (full, bare) = (name.dotted(), name.name());
                for text in [fold(&full), fold(bare), fold_words(&full), fold_words(bare)] {
                    let meanings = folded.entry(text.into()).or_default();
                    if meanings.last() != Some(&at) {
                        meanings.push(at);
                    }
                }
            }
            folded
        });
        let meant = |text: String| folded.get(text.as_str()).map_or(&[][..], SmallVec::as_slice);
        [meant(fold(text)), if is_plain { meant(fold_words(text)) } else { &[] }]
    }

    /// Returns the names that end in a bare name, sorted.
    pub(crate) fn bare(&self, text: &str) -> impl Iterator<Item = usize> {
        let found = self.by_text.get(text).map_or(&[][..], SmallVec::as_slice);
        found.iter().filter(|(form, _)| *form == Form::Bare).map(|(_, at)| *at)
    }
}

fn is_separator(c: char) -> bool {
    matches!(c, '.' | '_' | ':' | '-' | '/')
}

/// Returns true if the words of a text are separated by single separators or `__`. A name like `shop..look` only
/// resembles that of a tool.
fn is_separated(text: &str) -> bool {
    let single = text.replace("__", "_");
    single.split(is_separator).all(|word| !word.is_empty())
}

/// Returns the text in lower case, with each run of separators as one.
pub(crate) fn fold(text: &str) -> String {
    let words = text.split(is_separator).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join("_")
}

/// Returns the words of the text, including those of `camelCase`, in lower case with one separator between them.
fn fold_words(text: &str) -> String {
    words_of_name(text).join("_")
}
