//! Errors of building and reading an index.

/// An error that occurred while an index was built or read. The content of a query never causes an error; see
/// [`Reason`](crate::Reason).
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
        /// The number of tools that had been indexed.
        tools: usize,
        /// The limit, in bytes.
        limit: usize,
    },
    /// The index writer reported an error.
    #[error("the search index could not be built")]
    Index {
        /// The error of the index writer.
        #[from]
        source: tantivy::TantivyError,
    },
    /// The index could not be read back.
    #[error("the search index could not be read")]
    Read {
        /// The error of the index reader.
        #[from]
        source: std::io::Error,
    },
}
