//! Engines of simulated tools.

pub mod simulated;
