//! A hidden value that the runtime does not know.
/// Counts.
#[toolcrib_sdk::tool]
async fn count(#[hidden(context = "mesage")] text: String) -> usize { text.len() }
fn main() {}
