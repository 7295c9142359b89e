//! The display names of tools.

use toolcrib_model::QualifiedName;

/// Returns the display name of a tool, regardless of its spelling in a call.
pub(crate) fn shown_name(tool: &str) -> String {
    tool.parse::<QualifiedName>().map_or_else(|_| tool.to_owned(), |name| name.shown())
}
