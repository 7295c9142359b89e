//! What an audit promises.

mod file;
mod records;
mod shapes;
mod spool;

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_model::{JsonObject, QualifiedName, Tool, ToolCall};
use toolcrib_policy::{Authorized, Call, Capabilities, Effect, Policy, Verdict};
use toolcrib_port::CallContext;

use super::{Audit, CallRecorder, MemorySink};

/// What no record may hold.
const CANARY: &str = "kingfisher";

fn tool() -> Arc<Tool> {
    let name = QualifiedName::new("notes", "write").unwrap();
    Arc::new(Tool::new(name).with_parameters(json!({
        "type": "object",
        "properties": {"path": {"type": "string"}, "n": {"type": "integer"}},
    })))
}

fn arguments(value: Value) -> JsonObject {
    let Value::Object(arguments) = value else { panic!("no object: {value}") };
    arguments
}

fn tool_call() -> ToolCall {
    ToolCall::new("notes.write", arguments(json!({"path": CANARY, CANARY: 1}))).with_call_id("c1")
}

fn context() -> CallContext {
    let context = CallContext::new("s").with_agent("a").with_on_behalf_of(["chief".into()]);
    let mut context = context.with_user("u").with_conversation("v").with_trace("t");
    context.depth = 1;
    context
}

/// The call, as the policy lets it through or asks about it.
fn call() -> Call {
    let mut call = Call::new(tool(), "file notes.yaml".into(), 3);
    call.arguments = tool_call().arguments;
    call
}

fn authorized() -> Authorized<Call> {
    let policy =
        Policy::new(&Capabilities { default_policy: Effect::Grant, ..Capabilities::default() }, []).unwrap();
    match policy.authorize(call(), context().principal()) {
        Verdict::Granted(authorized) => authorized,
        other => panic!("not granted: {other:?}"),
    }
}

fn audit() -> (Audit, Arc<MemorySink>) {
    let kept = Arc::new(MemorySink::new());
    (Audit::new(kept.clone()), kept)
}

fn begun(audit: &Audit) -> CallRecorder {
    audit.begin(&tool_call(), &context())
}
