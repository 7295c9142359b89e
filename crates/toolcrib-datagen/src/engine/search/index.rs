//! The index of the documents of one engine.

use toolcrib_search::DocumentIndex;

use super::settings::DocumentIndexKind;
#[cfg(feature = "tantivy")]
use super::tantivy::TantivyIndex;

/// The index that the settings name.
#[derive(Debug)]
pub(super) enum Index {
    Builtin(DocumentIndex),
    #[cfg(feature = "tantivy")]
    Tantivy(TantivyIndex),
}

impl Index {
    /// Builds the index of some texts.
    ///
    /// # Errors
    ///
    /// The message says which index this build has, or that the texts are too long.
    pub(super) fn build<'a>(
        kind: DocumentIndexKind,
        texts: impl Iterator<Item = &'a str>,
    ) -> Result<Self, String> {
        match kind {
            DocumentIndexKind::Builtin => {
                let index = DocumentIndex::build(texts);
                index
                    .map(Self::Builtin)
                    .map_err(|_| "the documents have too much text to be indexed".to_owned())
            }
            #[cfg(feature = "tantivy")]
            DocumentIndexKind::Tantivy => TantivyIndex::build(texts)
                .map(Self::Tantivy)
                .map_err(|error| format!("the documents could not be indexed: {error}")),
            #[cfg(not(feature = "tantivy"))]
            DocumentIndexKind::Tantivy => {
                Err("`index: tantivy` needs a build with the feature `tantivy`".to_owned())
            }
        }
    }

    /// Returns the numbers of the documents that match best, best first, each with its relevance from 0 to 1: its score
    /// relative to that of a document of average length with each word of the query once.
    ///
    /// # Errors
    ///
    /// Returns what the index reports.
    pub(super) fn search(&self, words: &str, limit: usize) -> Result<Vec<(usize, f64)>, String> {
        match self {
            Self::Builtin(index) => {
                let matches = index.search(words, limit).into_iter();
                Ok(matches.map(|found| (found.number, found.relevance)).collect())
            }
            #[cfg(feature = "tantivy")]
            Self::Tantivy(index) => index
                .search(words, limit)
                .map_err(|error| format!("the index of the documents failed: {error}")),
        }
    }
}
