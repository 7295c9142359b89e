//! The limits of models, for both engines.

use std::num::NonZero;
use std::thread::available_parallelism;

/// The most bytes of a model file: 1 GiB, twice the size of the largest sentence model.
pub const MAX_MODEL_BYTES: u64 = 1 << 30;

/// The most bytes of each tokenizer file.
pub const MAX_TOKENIZER_BYTES: u64 = 64 << 20;

/// The most tokens of one text.
pub(super) const MAX_TOKENS: usize = 256;

/// The most threads that work on one text. Texts of tools are too short for more.
const MAX_THREADS: usize = 4;

/// Returns the number of threads that work on one text.
pub(super) fn threads() -> usize {
    available_parallelism().map_or(1, NonZero::get).min(MAX_THREADS)
}
