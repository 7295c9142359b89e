//! Engines of simulated tools, engines that search documents, and the router between engines.

pub mod routed;
pub mod search;
pub mod simulated;
