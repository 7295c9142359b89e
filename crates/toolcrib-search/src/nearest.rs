//! Names like the query, for an answer that found nothing.

use toolcrib_model::QualifiedName;

use crate::MAX_NEAREST;
use crate::index::compact;
use crate::text::Word;

/// The most characters of a query that are compared with names, and of a name.
const MAX_COMPARED_CHARS: usize = 64;

/// The likeness from which on a name is taken for what was meant.
const MIN_LIKENESS: f64 = 0.5;

/// The visible names that come nearest: those that are written like the query, then what was found for it (`best`),
/// then those that have anything in common with it.
pub(crate) fn nearest<'a>(
    names: &'a [QualifiedName],
    words: &[Word],
    best: impl Iterator<Item = &'a QualifiedName>,
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
    let like = ranked.partition_point(|(likeness, _)| *likeness >= MIN_LIKENESS);
    let (like, unlike) = ranked.split_at(like);
    let mut nearest: Vec<QualifiedName> = Vec::with_capacity(MAX_NEAREST);
    for name in like.iter().map(|(_, name)| *name).chain(best).chain(unlike.iter().map(|(_, name)| *name)) {
        if nearest.len() == MAX_NEAREST {
            break;
        }
        if !nearest.contains(name) && is_visible(name) {
            nearest.push(name.clone());
        }
    }
    nearest
}
