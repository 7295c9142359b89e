//! A risk that does not exist.
/// Doubles.
#[toolcrib_sdk::tool(risk = "none")]
async fn double(number: i32) -> i32 { number * 2 }
fn main() {}
