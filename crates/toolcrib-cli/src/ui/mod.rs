//! Output for people: tables, progress, and what a run shows.

pub(crate) mod activity;
pub(crate) mod markdown;
pub(crate) mod observer;
pub(crate) mod output;
pub(crate) mod printable;
pub(crate) mod results;
pub(crate) mod style;
pub(crate) mod tool_list;
pub(crate) mod width;
