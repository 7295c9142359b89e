//! Errors of building an index.

/// An error that occurred while an index was built. The content of a query never causes an error; see
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
    /// The terms of the tools need more memory than building an index may take.
    #[error(
        "the texts of {tools} tools need more than {limit} bytes while they are indexed; load fewer sources"
    )]
    TooMuchText {
        /// The number of tools that had been indexed.
        tools: usize,
        /// The limit, in bytes.
        limit: usize,
    },
}
