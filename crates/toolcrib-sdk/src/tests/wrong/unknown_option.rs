//! An option that does not exist.
#[toolcrib_sdk::tool(risky = "low")]
/// Doubles.
async fn double(number: i32) -> i32 { number * 2 }
fn main() {}
