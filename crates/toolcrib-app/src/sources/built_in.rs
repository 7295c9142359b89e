//! The loaders and engines that Toolcrib comes with.

use std::sync::Arc;

use toolcrib_loader_file::entry as file;
use toolcrib_loader_file::{MockEngine, MockSettings};
use toolcrib_loader_mcp::entry as mcp;
use toolcrib_loader_rest::entry as rest;

use crate::extensions::Extensions;

/// Adds them under their names, by the door that is there for those of other crates.
pub(crate) fn built_in(extensions: Extensions) -> Extensions {
    extensions
        .with_loader("exec", |settings, entry| file::exec(settings, entry))
        .with_loader("file", |settings, entry| Ok(file::file(settings, entry)))
        .with_loader("inline", |settings, entry| Ok(file::inline(&settings, entry)))
        .with_loader("mcp", |settings, entry| mcp::open(settings, entry))
        .with_loader("rest", |settings, entry| rest::open(settings, entry))
        .with_engine("command", |settings, entry| file::command(settings, entry))
        .with_engine("mock", |settings: MockSettings, _| Ok(Arc::new(MockEngine::new(settings))))
}
