//! The semantic retriever: it compares the vectors of the tools with that of the query.

use std::collections::HashMap;
use std::sync::Arc;

use toolcrib_model::QualifiedName;

use crate::embedding::Vectors;
use crate::query::Query;
use crate::query::clauses::clauses;
use crate::ranking::background::Background;

/// The vectors of the tools of an index. The row of a vector and the document number of its tool differ if one of the
/// two has names that the other lacks.
pub(crate) struct SemanticRetriever {
    vectors: Arc<Vectors>,
    /// The document of each row.
    documents: Vec<Option<u32>>,
    /// The row of each document.
    rows: Vec<Option<u32>>,
    /// The similarities of the tool set to requests that it is not for.
    pub background: Option<Background>,
}

/// The vectors of a query and of its clauses.
pub(crate) struct EmbeddedQuery {
    vector: Vec<f32>,
    clauses: Vec<Vec<f32>>,
    /// The share of the query that the embedder knows.
    pub coverage: f32,
    /// False if the query is in another language than English.
    pub is_english: bool,
}

impl SemanticRetriever {
    /// Creates the retriever. `names` and the names of the vectors are sorted.
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
        let background = Background::of(&vectors);
        Self { vectors, documents, rows, background }
    }

    /// Returns the id of the embedding model.
    pub(crate) fn model(&self) -> &str {
        self.vectors.embedder().id()
    }

    /// Embeds a query. Returns `None` if the embedder knows nothing of it or fails.
    pub(crate) fn of(&self, query: &Query<'_>) -> Option<EmbeddedQuery> {
        let coverage = self.vectors.embedder().coverage(query.text).clamp(0.0, 1.0);
        // A coverage of NaN is not above zero either.
        if coverage > 0.0 {
            let vector = self.vectors.query(query.text);
            let vector = vector.inspect_err(|error| tracing::debug!("no vector: {error}")).ok()?;
            // A clause of unknown words has no vector.
            let clauses = clauses(query).into_iter().filter_map(|clause| self.vectors.query(clause).ok());
            let is_english = self.vectors.embedder().is_english(query.text);
            return Some(EmbeddedQuery { vector, clauses: clauses.collect(), coverage, is_english });
        }
        None
    }

    /// Returns the documents that are most similar to a query, best first, and the similarity of each of `documents`,
    /// which is `None` if the document has no vector.
    ///
    /// The candidates are the visible tools nearest to the whole query. They and `documents` are then ordered by the
    /// mean of two similarities: that to the whole query, and that to the most similar clause.
    pub(crate) fn nearest(
        &self,
        embedded: &EmbeddedQuery,
        documents: &[u32],
        limit: usize,
        is_visible: impl Fn(u32) -> bool,
    ) -> (Vec<(u32, f32)>, Vec<Option<f32>>) {
        let index = self.vectors.index();
        let filter = |row: u32| self.document(row).is_some_and(&is_visible);
        let mut found = index.search(&embedded.vector, limit, &filter);
        let known = documents.iter().map(|document| self.rows.get(*document as usize).copied().flatten());
        let rows: Vec<Option<u32>> = known.collect();
        let mut others: Vec<u32> = rows.iter().flatten().copied().collect();
        let mut wanted: Vec<u32> = found.iter().map(|(row, _)| *row).collect();
        wanted.sort_unstable();
        others.retain(|row| wanted.binary_search(row).is_err());
        let scores = index.scores(&embedded.vector, &others);
        found.extend(others.iter().zip(scores).filter_map(|(row, score)| Some((*row, score?))));
        if !embedded.clauses.is_empty() {
            self.weigh_clauses(embedded, &mut found);
        }
        found.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        let by_row: HashMap<u32, f32> = found.iter().copied().collect();
        let similarity = rows.into_iter().map(|row| by_row.get(&row?).copied()).collect();
        found.truncate(limit);
        (
            found.into_iter().filter_map(|(row, score)| Some((self.document(row)?, score))).collect(),
            similarity,
        )
    }

    /// Replaces the similarity of each row by the mean of that to the whole query and that to its best clause.
    fn weigh_clauses(&self, embedded: &EmbeddedQuery, found: &mut [(u32, f32)]) {
        let rows: Vec<u32> = found.iter().map(|(row, _)| *row).collect();
        let mut best = vec![f32::NEG_INFINITY; rows.len()];
        for clause in &embedded.clauses {
            for (best, score) in best.iter_mut().zip(self.vectors.index().scores(clause, &rows)) {
                *best = score.map_or(*best, |score| score.max(*best));
            }
        }
        for ((_, similarity), best) in found.iter_mut().zip(best).filter(|(_, best)| best.is_finite()) {
            *similarity = f32::midpoint(*similarity, best);
        }
    }

    fn document(&self, row: u32) -> Option<u32> {
        self.documents.get(row as usize).copied().flatten()
    }
}
