//! What can go wrong while an index is built or read.

/// Why an index could not be built or read. Queries never fail for what they say; see [`Reason`](crate::Reason).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There are more tools than an index holds.
    #[error("the index holds at most {limit} tools; load fewer sources, or split them over several apps")]
    TooManyTools {
        /// The limit, [`MAX_TOOLS`](crate::MAX_TOOLS).
        limit: usize,
    },
    /// The texts of the tools need more memory than the index writer may take.
    #[error(
        "the texts of {tools} tools need more than {limit} bytes while they are indexed; load fewer sources"
    )]
    TooMuchText {
        /// How many tools had been indexed.
        tools: usize,
        /// The limit, in bytes.
        limit: usize,
    },
    /// The index itself refused.
    #[error("the search index could not be built")]
    Index {
        /// What it said.
        #[from]
        source: tantivy::TantivyError,
    },
    /// The index could not be read back.
    #[error("the search index could not be read")]
    Read {
        /// What it said.
        #[from]
        source: std::io::Error,
    },
}
