//! The names of the meta-tools.

/// The meta-tool that finds tools.
pub const SEARCH_TOOLS: &str = "search_tools";

/// The meta-tool that describes a tool.
pub(crate) const GET_TOOL: &str = "get_tool";

/// The meta-tool that calls a tool.
pub const EXECUTE_TOOL: &str = "execute_tool";

/// The tool that calls several tools at once.
pub const RUN_PARALLEL: &str = "run_parallel";

/// The meta-tool that lists the categories of tools.
pub const LIST_CATEGORIES: &str = "list_categories";

/// The meta-tool that lists the tools of a category.
pub const BROWSE_CATEGORY: &str = "browse_category";
