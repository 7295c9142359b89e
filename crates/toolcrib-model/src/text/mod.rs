//! Text forms: JSON, canonical JSON, invisible characters, words of names.

pub(crate) mod canonical;
pub(crate) mod invisible;
pub(crate) mod json;
pub(crate) mod words;
