//! A tool that nobody could find.
#[toolcrib_sdk::tool]
async fn double(number: i32) -> i32 { number * 2 }
fn main() {}
