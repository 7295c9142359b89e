//! Finds the right tool among thousands.
mod index;
mod outcome;

mod document;
mod text;

mod keyword;
mod names;
mod nearest;
mod query;
mod synonyms;
mod vocabulary;

pub mod evaluation;

mod error;

#[cfg(test)]
mod tests;

pub use document::{Field, MAX_DEPTH, MAX_ENUM_VALUES, MAX_FIELD_BYTES, MAX_PIECE_BYTES, MAX_PROPERTIES};
pub use error::Error;
pub use index::SearchIndex;
pub use keyword::{MAX_TOOLS, MAX_WRITER_BYTES};
pub use outcome::{
    DEFAULT_LIMIT, Explain, Hit, MAX_LIMIT, MAX_NEAREST, MIN_LIMIT, Outcome, Reason, SearchOptions,
};
pub use query::MAX_QUERY_BYTES;

pub(crate) fn tune(name: &str, default: f32) -> f32 {
    static MAP: std::sync::LazyLock<std::collections::HashMap<String, f32>> = std::sync::LazyLock::new(|| {
        std::env::vars().filter_map(|(k, v)| Some((k.strip_prefix("T_")?.to_owned(), v.parse().ok()?))).collect()
    });
    MAP.get(name).copied().unwrap_or(default)
}
