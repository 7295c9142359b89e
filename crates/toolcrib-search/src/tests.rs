//! What the index promises.
mod experiment;
