//! Engines of simulated tools, and the router between engines.

pub mod routed;
pub mod simulated;
