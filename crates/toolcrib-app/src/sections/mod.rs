//! The sections of an app file, their types and checks.

pub(crate) mod audit;
pub(crate) mod channels;
pub(crate) mod empty_sections;
pub(crate) mod former_names;
pub(crate) mod limits;
pub(crate) mod schema;
pub(crate) mod search;
pub(crate) mod serve;
pub(crate) mod settings;
pub(crate) mod skills;
pub(crate) mod strict;
pub(crate) mod templates;
pub(crate) mod validation;
pub(crate) mod variables;
