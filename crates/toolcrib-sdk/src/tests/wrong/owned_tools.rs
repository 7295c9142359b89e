//! A handle that is taken by value, which no model could send.
/// Counts.
#[toolcrib_sdk::tool]
async fn count(tools: toolcrib_sdk::Tools) -> usize { tools.list_tools("math", true).len() }
fn main() {}
