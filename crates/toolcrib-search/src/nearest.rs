//! Names like the query, for an answer that found nothing.

use toolcrib_model::QualifiedName;

use crate::MAX_NEAREST;
use crate::index::compact;
use crate::text::Word;

/// The most characters of a query that are compared with names, and of a name.
const MAX_COMPARED_CHARS: usize = 64;

/// The visible names that are most like the words of the query, best first, ties by name. Names that have nothing in
/// common with it are left out.
pub(crate) fn nearest(
    names: &[QualifiedName],
    words: &[Word],
    is_visible: impl Fn(&QualifiedName) -> bool,
) -> Vec<QualifiedName> {
    let query: String = words.iter().flat_map(|word| word.text.chars()).take(MAX_COMPARED_CHARS).collect();
    let likeness = |text: &str| {
        let text: String = compact(text).chars().take(MAX_COMPARED_CHARS).collect();
        strsim::sorensen_dice(&query, &text)
    };
    let mut ranked: Vec<(f64, &QualifiedName)> = names
        .iter()
        .map(|name| (likeness(name.name()).max(likeness(&name.dotted())), name))
        .filter(|(likeness, _)| *likeness > 0.0)
        .collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    ranked
        .into_iter()
        .map(|(_, name)| name)
        .filter(|name| is_visible(name))
        .take(MAX_NEAREST)
        .cloned()
        .collect()
}
