//! When something is to happen: a moment in the words of people, or a pattern of moments.

mod cron;
mod phrase;
pub(crate) mod to_second;
mod words;

#[cfg(test)]
mod tests;

pub use cron::{Cron, MAX_CRON_CHARS};
pub use phrase::{MAX_PHRASE_CHARS, moment};
