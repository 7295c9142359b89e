//! Granted calls of a module.

use std::error::Error;
use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_policy::{Authorized, Call, Policy, Verdict};
use toolcrib_port::{CallContext, ToolEngine as _, ToolLoader as _};
use toolcrib_sdk::Module;

/// Returns the context of the caller.
pub(crate) fn context() -> CallContext {
    CallContext::new("bench")
}

/// Returns a call of a tool of the module, as the executor passes it to the engine.
pub(crate) fn authorized(
    module: &Module,
    name: &str,
    arguments: &Value,
) -> Result<Authorized<Call>, Box<dyn Error>> {
    let tool = module.definitions().find(|tool| tool.name.name() == name).ok_or("there is no such tool")?;
    // Granted by name, so that a tool of high risk needs no approval.
    let rules = json!({"grant": [{"module": module.id(), "actions": [name]}]});
    let policy = Policy::new(&serde_json::from_value(rules)?, [])?;
    let mut call = Call::new(Arc::new(tool), module.source().into(), 1);
    call.arguments = arguments.as_object().cloned().unwrap_or_default();
    match policy.authorize(call, context().principal()) {
        Verdict::Granted(call) => Ok(call),
        _ => Err(format!("a call of `{name}` is not granted").into()),
    }
}

/// Returns the result of a call.
pub(crate) async fn result(module: &Module, name: &str, arguments: &Value) -> Result<Value, Box<dyn Error>> {
    let result = module.invoke(&authorized(module, name, arguments)?, &context()).await;
    match result.error {
        Some(error) => Err(error.into()),
        None => Ok(result.result),
    }
}
