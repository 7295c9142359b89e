//! Output for people: tables, progress, and what a run shows.

pub(crate) mod observer;
pub(crate) mod output;
pub(crate) mod printable;
