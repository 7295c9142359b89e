//! The results layer alone: `cargo run --example results-only`.
//!
//! It stores a large result, shows its reader a preview within a number of tokens, and removes a secret from it.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use serde_json::json;
use toolcrib_model::{Secret, ToolResult};
use toolcrib_port::CallContext;
use toolcrib_results::{ResultLimits, Results, Secrets};

fn main() {
    let secrets = Secrets::new();
    secrets.add("DOOR_CODE", Secret::new("correct-horse-battery"));
    let limits = ResultLimits::new(500);
    let results = Results::new(limits).with_secrets(secrets);

    let order = |id: u32| json!({"id": id, "customer": "Ada", "note": "door code correct-horse-battery"});
    let orders: Vec<_> = (0..1_000).map(order).collect();
    let result = ToolResult::ok(None, "shop::orders", json!(orders));

    let shown = results.shape(result, None, &CallContext::new("session"));
    println!("{}", shown.result);
    println!("handle: {}", shown.metadata.get("handle").map(ToString::to_string).unwrap_or_default());
}
