//! Tests of the samplers.
