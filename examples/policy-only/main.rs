//! The policy layer alone: `cargo run --example policy-only`.
//!
//! It decides whether calls may run, by tool and by argument, and names the rule that decided.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::sync::Arc;

use serde_json::json;
use toolcrib_model::{JsonObject, QualifiedName, Tool};
use toolcrib_policy::{Call, Capabilities, Policy, Verdict};

fn main() -> Result<(), Box<dyn Error>> {
    let capabilities: Capabilities = serde_json::from_value(json!({
        "default_policy": "deny",
        "grant": [{"module": "files", "actions": ["read"]}],
        "approve": [{"module": "files", "actions": ["write"]}],
        "deny": [{"module": "files", "arguments": [{"path": "/path", "matches": "/etc/.*"}]}],
    }))?;
    let policy = Policy::new(&capabilities, [])?;

    for (name, path) in
        [("read", "/tmp/a"), ("read", "/etc/shadow"), ("write", "/tmp/a"), ("remove", "/tmp/a")]
    {
        let tool = Arc::new(Tool::new(QualifiedName::new("files", name)?));
        let mut call = Call::new(tool, "files".into(), 1);
        call.arguments = JsonObject::from_iter([("path".to_owned(), json!(path))]);
        let (verdict, rule) = match policy.authorize(call, "session") {
            Verdict::Granted(call) => ("runs", Arc::clone(&call.decision().rule)),
            Verdict::Ask(pending) => ("waits for approval", Arc::clone(&pending.decision().rule)),
            Verdict::Denied(decision) => ("is denied", decision.rule),
        };
        println!("{name} {path}: {verdict} ({rule})");
    }
    Ok(())
}
