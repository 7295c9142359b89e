//! Did you mean?

/// The minimum similarity of two words, from 0 to 1, for a suggestion.
const MIN_SIMILARITY: f64 = 0.7;

/// Returns the known word that is nearest to the given one, if any is near enough to be meant. Case does not count.
///
/// ```
/// assert_eq!(toolcrib_document::nearest("registy", ["engines", "registry"]), Some("registry"));
/// assert_eq!(toolcrib_document::nearest("x", ["engines", "registry"]), None);
/// ```
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let given = given.to_lowercase();
    known
        .into_iter()
        .map(|word| (word, similarity(&given, &word.to_lowercase())))
        .filter(|(_, similarity)| *similarity >= MIN_SIMILARITY)
        // The first of equals, so that the answer does not depend on chance.
        .reduce(|best, next| if next.1 > best.1 { next } else { best })
        .map(|(word, _)| word)
}

fn similarity(given: &str, word: &str) -> f64 {
    let edits = strsim::normalized_damerau_levenshtein(given, word);
    // `file` for `filesystem`: a prefix is meant more often than its edit distance says.
    let prefix = given.len() >= 3 && (word.starts_with(given) || given.starts_with(word) && word.len() >= 3);
    if prefix { edits.max(MIN_SIMILARITY) } else { edits }
}
