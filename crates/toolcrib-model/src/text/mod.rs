//! Text forms: JSON, canonical JSON, invisible characters, truncation, words of names.

pub(crate) mod canonical;
pub(crate) mod invisible;
pub(crate) mod json;
pub(crate) mod truncate;
pub(crate) mod words;
