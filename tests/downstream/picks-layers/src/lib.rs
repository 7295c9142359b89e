//! A program that uses three layers, each by its own crate.

pub mod layers;
