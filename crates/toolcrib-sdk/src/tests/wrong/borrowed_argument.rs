//! An argument that nobody owns.
/// Counts.
#[toolcrib_sdk::tool]
async fn count(text: &str) -> usize { text.len() }
fn main() {}
