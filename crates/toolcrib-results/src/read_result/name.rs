//! The name of the tool that reads stored results.

/// The tool that reads stored results.
pub const READ_RESULT: &str = "read_result";
