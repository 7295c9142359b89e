//! Every way in which a name can be written.

use std::collections::HashMap;

use toolcrib_model::{NAMESPACE_SEPARATOR, QualifiedName};

/// Separators of namespace and name, the strongest first: a text that is a name by an earlier one is not looked at by
/// the later ones, nor as a bare name.
const SEPARATORS: [&str; 3] = [NAMESPACE_SEPARATOR, ".", "__"];

/// How strong a bare name is: weaker than every separator.
const BARE: u8 = 3;

/// The names behind each spelling, by their places in the sorted list of names.
#[derive(Debug, Default)]
pub(crate) struct Spellings {
    /// The strength of each is that of its separator; sorted by it, then by place.
    by_text: HashMap<Box<str>, Vec<(u8, usize)>>,
}

impl Spellings {
    pub(crate) fn new<'a>(names: impl IntoIterator<Item = &'a QualifiedName>) -> Self {
        let mut by_text: HashMap<Box<str>, Vec<(u8, usize)>> = HashMap::new();
        for (at, name) in names.into_iter().enumerate() {
            let mut add =
                |text: String, strength| by_text.entry(text.into()).or_default().push((strength, at));
            for (strength, separator) in (0..).zip(SEPARATORS) {
                add(format!("{}{separator}{}", name.namespace(), name.name()), strength);
            }
            add(name.name().to_owned(), BARE);
        }
        for found in by_text.values_mut() {
            found.sort_unstable();
        }
        Self { by_text }
    }

    /// The names that a text may mean: those of the strongest separator that fits.
    pub(crate) fn find(&self, text: &str) -> impl Iterator<Item = usize> {
        let found = self.by_text.get(text).map_or(&[][..], Vec::as_slice);
        let strongest = found.first().map_or(0, |(strength, _)| *strength);
        found.iter().take_while(move |(strength, _)| *strength == strongest).map(|(_, at)| *at)
    }

    /// The names that end in a bare name.
    pub(crate) fn bare(&self, text: &str) -> impl Iterator<Item = usize> {
        let found = self.by_text.get(text).map_or(&[][..], Vec::as_slice);
        found.iter().filter(|(strength, _)| *strength == BARE).map(|(_, at)| *at)
    }
}
