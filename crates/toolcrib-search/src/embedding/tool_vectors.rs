//! The vectors of single overloads.

use std::collections::HashMap;
use std::sync::Arc;

use toolcrib_model::QualifiedName;
use toolcrib_registry::Entry;
use toolcrib_registry::enrichment::ToolKey;

use super::tool_texts::texts_of;
use super::vector_index::{QuantizedVector, VectorIndex};
use super::vectors::embed;
use super::worker::MeanVector;
use super::{EmbedError, Vectors};

/// The vectors of tools, one for each overload.
#[derive(Debug)]
pub struct ToolVectors {
    keys: Vec<Arc<ToolKey>>,
    rows: HashMap<Arc<ToolKey>, u32>,
    index: VectorIndex,
}

impl ToolVectors {
    /// Takes the vectors of names with one tool, and makes those of other overloads. It blocks while the embedder runs.
    pub fn new(tools: &[Arc<Entry>], vectors: &Vectors) -> Result<Self, EmbedError> {
        let mut overloads: HashMap<&QualifiedName, usize> = HashMap::new();
        for entry in tools {
            *overloads.entry(&entry.tool.name).or_default() += 1;
        }
        let keys: Vec<_> = tools.iter().map(|entry| Arc::new(ToolKey::of(entry))).collect();
        let mut quantized = Vec::with_capacity(keys.len());
        for entry in tools {
            let name = &entry.tool.name;
            let is_single = overloads.get(name) == Some(&1);
            if let Some(vector) = vectors.of(name).filter(|_| is_single) {
                quantized.push(QuantizedVector::of(&vector));
                continue;
            }
            let texts = texts_of(&[&entry.tool]);
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let mut mean = MeanVector::default();
            for vector in embed(vectors.embedder().as_ref(), &texts)? {
                match vector {
                    Err(EmbedError::Nowhere { .. }) => {}
                    vector => mean.add(&vector?),
                }
            }
            quantized.push(mean.row());
        }
        let index = VectorIndex::new(
            vectors.index().dimension(),
            quantized.iter().map(|row| row.as_ref().map(QuantizedVector::row)),
        );
        let rows = (0_u32..).zip(&keys).map(|(row, key)| (Arc::clone(key), row)).collect();
        Ok(Self { keys, rows, index })
    }

    /// Returns the keys of the tools, in the order in which they were given. The row of a tool is its position.
    pub fn keys(&self) -> &[Arc<ToolKey>] {
        &self.keys
    }

    /// Returns the index of the vectors.
    pub fn index(&self) -> &VectorIndex {
        &self.index
    }

    /// Returns the vector of a tool, whose length is at most one. Returns `None` if the tool has no vector.
    pub fn of(&self, tool: &ToolKey) -> Option<Vec<f32>> {
        self.index.vector(*self.rows.get(tool)?)
    }
}
