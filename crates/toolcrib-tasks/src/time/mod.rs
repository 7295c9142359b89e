//! Points in time: phrases such as `tomorrow at 9am`, and cron patterns.

mod cron;
mod phrase;
pub(crate) mod to_second;
mod vocabulary;

#[cfg(test)]
mod tests;

pub use cron::Cron;
pub(crate) use cron::MAX_CRON_CHARS;
pub(crate) use phrase::MAX_PHRASE_CHARS;
pub use phrase::parse_time;
