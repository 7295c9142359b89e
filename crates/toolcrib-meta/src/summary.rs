//! Descriptions, shortened for a list.

pub(crate) use toolcrib_model::text::{ellipsize_words as cut, first_sentence, fold_spaces as folded};

/// The most characters of a one-line summary.
pub(crate) const MAX_SUMMARY: usize = 100;

/// Returns the first sentence of a description, on one line.
pub(crate) fn summary(description: &str) -> String {
    cut(first_sentence(&folded(description)), MAX_SUMMARY)
}
