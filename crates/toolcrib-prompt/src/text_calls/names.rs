//! The names of known tools, which identify calls without markers.

use std::collections::HashSet;
use std::sync::Arc;

use crate::WireNames;

/// Prefixes that some models write before the name of a tool.
const PREFIXES: [&str; 3] = ["functions.", "default_api.", "tools."];

/// The most words of an unreadable call that are searched for the name of a tool.
const MAX_WORDS: usize = 12;

/// The suffix that Llama appends to the names of tools that it was trained with.
const SUFFIX: &str = ".call";

/// The names of the tools that a model may call, in every spelling.
///
/// Forms that may also be an example, data or code are read as calls of these tools only.
///
/// ```
/// use toolcrib_prompt::text_calls::ToolNames;
/// let names = ToolNames::new(["filesystem__read"]);
/// assert!(names.knows("filesystem.read") && names.knows("Filesystem::Read"));
/// assert!(!names.knows("filesystem.write"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct ToolNames {
    /// The letters and digits of the names, in lower case.
    known: Arc<HashSet<String>>,
}

impl ToolNames {
    /// Creates the set of these names.
    pub fn new(names: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        let known = names.into_iter().map(|name| folded(name.as_ref())).filter(|name| !name.is_empty());
        Self { known: Arc::new(known.collect()) }
    }

    /// Returns true if a text is one of the names in some spelling.
    pub fn knows(&self, name: &str) -> bool {
        self.known.contains(&folded(plain(name)))
    }

    /// Returns the first word of a text that is one of the names, among its first words.
    pub(super) fn first_in<'a>(&self, text: &'a str) -> Option<&'a str> {
        let is_between = |c: char| !c.is_alphanumeric() && !matches!(c, '_' | '-' | '.' | ':');
        let words = text.split(is_between).filter(|word| !word.is_empty()).take(MAX_WORDS);
        words
            .map(|word| word.split(':').find(|part| self.knows(part)).unwrap_or(word))
            .find(|word| self.knows(word))
    }

    /// Returns the name without the prefixes and suffixes that models add.
    pub(super) fn strip<'a>(&self, name: &'a str) -> &'a str {
        let name = name.trim();
        if self.known.contains(&folded(name)) { name } else { plain(name) }
    }
}

/// Includes the wire name, the full name and the bare name of each tool.
impl From<&WireNames> for ToolNames {
    fn from(names: &WireNames) -> Self {
        Self::new(names.iter().flat_map(|(wire_name, target)| {
            [wire_name.to_owned(), target.name.dotted(), target.name.name().to_owned()]
        }))
    }
}

fn plain(name: &str) -> &str {
    let name = name.strip_suffix(SUFFIX).unwrap_or(name);
    PREFIXES
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix))
        .filter(|rest| !rest.is_empty())
        .unwrap_or(name)
}

fn folded(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}
