//! The arm of meaning: the vectors of the tools, beside the keyword index.

use std::sync::Arc;

use toolcrib_model::QualifiedName;

use crate::embedding::Vectors;

/// The vectors of the tools of an index. Rows of vectors and numbers of documents differ where one of the two has names
/// that the other has not.
pub(crate) struct Meaning {
    vectors: Arc<Vectors>,
    /// The document of each row.
    documents: Vec<Option<u32>>,
    /// The row of each document.
    rows: Vec<Option<u32>>,
}

/// What a query means: its vector, and how far that can be trusted.
pub(crate) struct Meant {
    vector: Vec<f32>,
    /// The share of the query that the embedder knows.
    pub coverage: f32,
}

impl Meaning {
    /// Brings rows and documents together; the names of both are sorted.
    pub(crate) fn new(names: &[QualifiedName], vectors: Arc<Vectors>) -> Self {
        let mut rows = vec![None; names.len()];
        let mut documents = vec![None; vectors.names().len()];
        let mut known = (0u32..).zip(names).peekable();
        for ((row, name), slot) in (0u32..).zip(vectors.names()).zip(&mut documents) {
            while known.next_if(|(_, other)| *other < name).is_some() {}
            if let Some((document, _)) = known.next_if(|(_, other)| *other == name) {
                *slot = Some(document);
                if let Some(slot) = rows.get_mut(document as usize) {
                    *slot = Some(row);
                }
            }
        }
        Self { vectors, documents, rows }
    }

    /// The name of the model.
    pub(crate) fn model(&self) -> &str {
        self.vectors.embedder().id()
    }

    /// What a query means. None where the embedder knows nothing of it, or fails on it.
    pub(crate) fn of(&self, query: &str) -> Option<Meant> {
        let coverage = self.vectors.embedder().coverage(query).clamp(0.0, 1.0);
        // What is not a number is not above zero either.
        if coverage > 0.0 {
            let vector = self.vectors.query(query).inspect_err(|error| tracing::debug!("no vector: {error}"));
            return Some(Meant { vector: vector.ok()?, coverage });
        }
        None
    }

    /// The visible documents that are most like a query, best first, with their likeness.
    pub(crate) fn nearest(
        &self,
        meant: &Meant,
        limit: usize,
        is_visible: impl Fn(u32) -> bool,
    ) -> Vec<(u32, f32)> {
        let filter = |row: u32| self.document(row).is_some_and(&is_visible);
        let found = self.vectors.index().search(&meant.vector, limit, &filter);
        found.into_iter().filter_map(|(row, likeness)| Some((self.document(row)?, likeness))).collect()
    }

    /// How like a query these documents are; none where one has no vector.
    pub(crate) fn likeness(&self, meant: &Meant, documents: &[u32]) -> Vec<Option<f32>> {
        let row = |document: &u32| self.rows.get(*document as usize).copied().flatten();
        let known: Vec<u32> = documents.iter().filter_map(row).collect();
        let mut scores = self.vectors.index().scores(&meant.vector, &known).into_iter();
        documents.iter().map(|document| row(document).and_then(|_| scores.next()).flatten()).collect()
    }

    fn document(&self, row: u32) -> Option<u32> {
        self.documents.get(row as usize).copied().flatten()
    }
}
