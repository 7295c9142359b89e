//! The ranking of search results: the fusion of both retrievers, the actions of tools, and the confidence of a match.

pub(crate) mod action;
pub(crate) mod background;
pub(crate) mod confidence;
pub(crate) mod fusion;
