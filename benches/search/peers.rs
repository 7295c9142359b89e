//! The compared search implementations behind one interface: this project and others.

use std::error::Error;
use std::sync::Arc;

use bm25::{Document, Language, SearchEngine, SearchEngineBuilder};
use ratel_ai_core::ToolRegistry;
use toolcrib_model::{QualifiedName, Tool};
use toolcrib_search::embedding::{BuiltinEmbedder, Embedder, Embeddings, RtenEmbedder, Vectors};
use toolcrib_search::{Outcome, SearchIndex, SearchOptions};

use crate::data;

/// A search implementation.
pub(crate) trait Finder {
    /// The name in the report.
    const NAME: &'static str;

    /// Reads the tools, until the first query is answered as fast as later ones.
    fn build(tools: &[Arc<Tool>]) -> Result<Self, Box<dyn Error>>
    where
        Self: Sized;

    /// Returns the names of the best tools.
    fn search(&self, query: &str, limit: usize) -> Vec<QualifiedName>;
}

/// This project with its default tier: words and meaning, with abstention.
pub(crate) struct Ours(SearchIndex);

/// This project with the tier `keyword`.
pub(crate) struct OursByWords(SearchIndex);

/// This project with the tier `model` and the model of the shared data.
pub(crate) struct OursWithModel(SearchIndex);

/// The vectors of the default tier alone, without words and abstention.
pub(crate) struct OursByMeaning(Arc<Vectors>);

impl Ours {
    /// Returns the whole answer to a query.
    pub(crate) fn outcome(&self, query: &str, limit: usize) -> Outcome {
        self.0.search(query, &SearchOptions::new(limit))
    }
}

impl Finder for Ours {
    const NAME: &'static str = "toolcrib";

    fn build(tools: &[Arc<Tool>]) -> Result<Self, Box<dyn Error>> {
        Ok(Self(index(tools, Some(Arc::new(BuiltinEmbedder::new()?)))?))
    }

    fn search(&self, query: &str, limit: usize) -> Vec<QualifiedName> {
        found(&self.0, query, limit)
    }
}

impl Finder for OursByWords {
    const NAME: &'static str = "toolcrib, tier keyword";

    fn build(tools: &[Arc<Tool>]) -> Result<Self, Box<dyn Error>> {
        Ok(Self(index(tools, None)?))
    }

    fn search(&self, query: &str, limit: usize) -> Vec<QualifiedName> {
        found(&self.0, query, limit)
    }
}

impl Finder for OursByMeaning {
    const NAME: &'static str = "toolcrib, vectors alone";

    fn build(tools: &[Arc<Tool>]) -> Result<Self, Box<dyn Error>> {
        Ok(Self(vectors(Arc::new(BuiltinEmbedder::new()?), tools)?))
    }

    fn search(&self, query: &str, limit: usize) -> Vec<QualifiedName> {
        // A query of unknown words has no vector.
        let Ok(vector) = self.0.query(query) else { return Vec::new() };
        let found = self.0.index().search(&vector, limit, &|_| true).into_iter();
        found.filter_map(|(row, _)| self.0.names().get(row as usize).cloned()).collect()
    }
}

impl Finder for OursWithModel {
    const NAME: &'static str = "toolcrib, tier model (all-MiniLM-L6-v2, int8)";

    fn build(tools: &[Arc<Tool>]) -> Result<Self, Box<dyn Error>> {
        let folder = data::model().ok_or("TOOLCRIB_SHARED is not set")?;
        Ok(Self(index(tools, Some(Arc::new(RtenEmbedder::open(folder)?)))?))
    }

    fn search(&self, query: &str, limit: usize) -> Vec<QualifiedName> {
        found(&self.0, query, limit)
    }
}

fn index(tools: &[Arc<Tool>], embedder: Option<Arc<dyn Embedder>>) -> Result<SearchIndex, Box<dyn Error>> {
    let index = SearchIndex::build(tools.iter().map(AsRef::as_ref))?;
    if let Some(embedder) = embedder {
        index.attach(&vectors(embedder, tools)?);
    }
    Ok(index)
}

fn vectors(embedder: Arc<dyn Embedder>, tools: &[Arc<Tool>]) -> Result<Arc<Vectors>, Box<dyn Error>> {
    let embeddings = Embeddings::of_tools(embedder, tools);
    tokio::runtime::Builder::new_current_thread().build()?.block_on(embeddings.finished());
    Ok(Arc::clone(embeddings.vectors().ok_or("there are no vectors")?))
}

fn found(index: &SearchIndex, query: &str, limit: usize) -> Vec<QualifiedName> {
    let options = SearchOptions::new(limit);
    index.search(query, &options).hits.into_iter().map(|hit| hit.name).collect()
}

/// The crate `bm25`, with name, description, and parameters as one text.
pub(crate) struct Bm25 {
    names: Vec<QualifiedName>,
    engine: SearchEngine<u32>,
}

impl Finder for Bm25 {
    const NAME: &'static str = "bm25";

    fn build(tools: &[Arc<Tool>]) -> Result<Self, Box<dyn Error>> {
        let text = |tool: &Tool| format!("{} {} {}", tool.name.name(), tool.description, tool.parameters);
        let documents = (0_u32..).zip(tools).map(|(number, tool)| Document::new(number, text(tool)));
        Ok(Self {
            names: tools.iter().map(|tool| tool.name.clone()).collect(),
            engine: SearchEngineBuilder::with_documents(Language::English, documents).build(),
        })
    }

    fn search(&self, query: &str, limit: usize) -> Vec<QualifiedName> {
        let found = self.engine.search(query, limit).into_iter();
        found.filter_map(|found| self.names.get(found.document.id as usize).cloned()).collect()
    }
}

/// The crate `ratel-ai-core`.
pub(crate) struct Ratel(ToolRegistry);

impl Finder for Ratel {
    const NAME: &'static str = "ratel-ai-core";

    fn build(tools: &[Arc<Tool>]) -> Result<Self, Box<dyn Error>> {
        let mut registry = ToolRegistry::new();
        for tool in tools {
            registry.register(ratel_ai_core::Tool {
                id: tool.name.to_string(),
                name: tool.name.name().to_owned(),
                description: tool.description.clone(),
                experimental_searchable_description: None,
                input_schema: tool.parameters.to_value().into_owned(),
                output_schema: serde_json::Value::Null,
            });
        }
        // The first query builds the index.
        drop(registry.search("", 1));
        Ok(Self(registry))
    }

    fn search(&self, query: &str, limit: usize) -> Vec<QualifiedName> {
        let found = self.0.search(query, limit).into_iter();
        found.filter_map(|found| found.tool_id.parse().ok()).collect()
    }
}
