//! The sections of an app file: the settings of each, its checks, and what is built of it.

pub mod agents;
pub mod app;
pub mod approvals;
pub mod apps;
pub mod audit;
pub mod capabilities;
pub mod channels;
pub(crate) mod enrichments;
pub mod execution;
pub(crate) mod generate;
pub(crate) mod hooks;
pub mod limits;
pub mod module_entry;
pub mod modules;
pub mod output_schema;
pub mod profiles;
pub(crate) mod program_access;
pub mod response_format;
pub mod runtime;
pub mod scripts;
pub mod search;
pub mod serve;
pub mod setup;
pub(crate) mod shapes;
pub mod skills;
pub(crate) mod values;
