//! Any bytes as a file of tools, in each format.

use toolcrib_document::{Format, Limits, parse};
use toolcrib_loader_file::InlineLoader;

/// Checks what holds for one input.
pub(crate) fn check(bytes: &[u8]) {
    for format in [Format::Json, Format::JsonLines, Format::Yaml] {
        for limits in [Limits::default(), Limits::default().with_scalar_keys()] {
            match parse(bytes, format, &limits) {
                Ok(document) => drop(InlineLoader::new(&document, "", "fuzz", "tools")),
                Err(error) => assert!(!error.to_string().is_empty()),
            }
        }
    }
}
