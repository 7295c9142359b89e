//! Search that finds the right tool among thousands.
//!
//! A [`SearchIndex`] is built once from all tools of a generation and is read-only afterwards. [`SearchIndex::search`]
//! takes a query by a person or a model and returns an [`Outcome`]: either [`Hit`]s, each with an explanation, or the
//! [`Reason`] why nothing matched and the names that resemble the query.
//!
//! ```
//! use toolcrib_model::{QualifiedName, Tool};
//! use toolcrib_search::{SearchIndex, SearchOptions};
//!
//! let tools = [
//!     Tool::new(QualifiedName::new("files", "remove")?).with_description("Takes a file out of a folder."),
//!     Tool::new(QualifiedName::new("weather_api", "get_weather")?).with_description("Current conditions of a place."),
//! ];
//! let index = SearchIndex::build(&tools)?;
//!
//! let outcome = index.search("Please delete this file", &SearchOptions::default());
//! assert_eq!(outcome.hits[0].name, tools[0].name);
//!
//! let outcome = index.search("what does get_weather tell of a file?", &SearchOptions::default());
//! assert_eq!(outcome.hits[0].name, tools[1].name);
//! assert!(outcome.hits[0].explain.exact);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # How a query is answered
//!
//! 1. Text becomes terms, in the same way for tools and for queries: it is split at punctuation and inside `camelCase`
//!    and `snake_case`, folded, stripped of stop words and request words, and stemmed as English. Chinese, Japanese and
//!    Korean text is split into characters and pairs of characters.
//! 2. Tools that the query names, in any spelling, come first, in order of mention.
//! 3. The results of the keyword retriever follow: BM25F over six [`Field`]s on posting lists in memory, with
//!    synonyms. A query word that no tool contains is completed or corrected to words of tool names.
//! 4. If the index has vectors, the best results of both retrievers are [fused](Ranking), and the [`Evidence`] decides
//!    whether there is a match at all; `docs/reference/search-figures.md` has the figures.
//! 5. Ties are broken by name, so the same tools and query always give the same answer.
//!
//! A tool that [`SearchOptions::filter`] rejects appears neither among the hits nor among the suggested names. Every
//! text, number and list that comes from tools or queries is bounded by a constant of this crate.
//!
//! [`embedding`] makes a vector for each tool; [`SearchIndex::attach`] adds the vectors to an index, which then also
//! searches by meaning. [`evaluation`] measures the quality of rankings.
//!
//! This crate neither executes tools nor decides who may see them. From the disk it reads only embedding models, the
//! vectors that they made, and [cached indexes](SearchIndex::build_cached).

mod index;
pub mod limits;
mod outcome;
mod settings;

mod text;
mod tool_text;

mod keyword;
mod names;
mod query;
mod ranking;
mod semantic_retriever;

mod cache;

pub mod embedding;
pub mod evaluation;

pub mod duplicates;

mod error;

#[cfg(test)]
mod tests;

pub use error::Error;
pub use index::SearchIndex;
pub use keyword::{DocumentIndex, FoundDocument, MAX_TOOLS};
pub use outcome::{Evidence, Explain, Hit, Outcome, Reason, RetrieverScore, SearchOptions};
pub use settings::{MAX_QUERY_BYTES, MAX_SYNONYM_GROUPS, MAX_SYNONYM_WORDS, Ranking, SearchSettings};
pub use tool_text::Field;
