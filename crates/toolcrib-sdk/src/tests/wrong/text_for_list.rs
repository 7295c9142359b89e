//! A text where a list of texts belongs.
/// Counts.
#[toolcrib_sdk::tool(aliases = "compter")]
async fn count(text: String) -> usize { text.len() }
fn main() {}
