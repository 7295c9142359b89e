//! Decides about calls by their arguments.

use std::error::Error;
use std::sync::Arc;

use serde_json::json;
use toolcrib::model::{JsonObject, QualifiedName, Tool};
use toolcrib::policy::{Call, Capabilities, Policy, Verdict};

fn main() -> Result<(), Box<dyn Error>> {
    let rules: Capabilities = serde_json::from_value(json!({
        "default_policy": "approve",
        "grant": [{"module": "shell", "arguments": [{"path": "/argv/0", "equals": "git"}]}],
    }))?;
    let policy = Policy::new(&rules, [])?;
    let run = Arc::new(Tool::new(QualifiedName::new("shell", "run")?));
    let verdict = |program: &str| {
        let mut call = Call::new(Arc::clone(&run), "shell".into(), 1);
        call.arguments = JsonObject::from_iter([("argv".to_owned(), json!([program, "log"]))]);
        policy.authorize(call, "session")
    };
    assert!(matches!(verdict("git"), Verdict::Granted(_)));
    assert!(matches!(verdict("rm"), Verdict::Ask(_)));
    Ok(())
}
