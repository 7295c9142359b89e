//! Changes of files that belong to the user: configurations of clients, and app files.

mod app;
mod target;
mod yaml_text;

#[cfg(test)]
mod tests;

pub(crate) use app::{AppEdit, CollectionStyle};
pub(crate) use target::{MAX_CONFIGURATION_BYTES, Target, backups};
pub(crate) use yaml_text::quoted;
