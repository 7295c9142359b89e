//! Limits of a search and of its index.

/// The fewest hits that can be requested.
pub const MIN_LIMIT: usize = 1;

/// The most hits of one outcome: more would not be read, and would fill the model's context window.
pub const MAX_LIMIT: usize = 20;

/// The number of tools from which on an index is cached. Fewer tools are indexed in the time that the disk takes.
pub const MIN_CACHED_TOOLS: usize = 1_000;

/// The confidence below which a search reports no match. Nothing is lost above it: a weak match is shown.
pub const MIN_CONFIDENCE: f32 = 0.01;
