//! A program that uses the crate `toolcrib`.

pub mod desk;
