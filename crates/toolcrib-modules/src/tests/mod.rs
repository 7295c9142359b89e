//! What the table of modules and `hello` promise, and how tests make a call.

mod built_in;
mod hello;

use std::sync::Arc;

use serde_json::Value;
use toolcrib_model::{Risk, Tool, ToolResult};
use toolcrib_policy::{Authorized, Call, Capabilities, Policy, Rule, Verdict};
use toolcrib_port::{CallContext, ToolEngine, ToolLoader};
use toolcrib_sdk::Module;

/// The tool of this bare name.
pub(crate) async fn tool(module: &Module, name: &str) -> Tool {
    let loaded = module.load().await;
    assert_eq!(loaded.rejected, []);
    loaded.tools.into_iter().find(|tool| tool.name.name() == name).unwrap()
}

/// A call with these arguments, before policy has seen it.
pub(crate) async fn pending(module: &Module, name: &str, arguments: &Value) -> Call {
    let mut call = Call::new(Arc::new(tool(module, name).await), module.source().into(), 1);
    call.arguments = arguments.as_object().unwrap().clone();
    call
}

/// A call that policy has let through.
pub(crate) async fn authorized(module: &Module, name: &str, arguments: &Value) -> Authorized<Call> {
    let call = pending(module, name, arguments).await;
    // By its name, as a tool of high risk has to be.
    let (module, actions) = (Some(module.id().into()), Some(vec![name.into()]));
    let capabilities =
        Capabilities { grant: vec![Rule { module, actions, ..Rule::default() }], ..Capabilities::default() };
    let Verdict::Granted(call) = Policy::new(&capabilities, []).unwrap().authorize(call, "test") else {
        panic!("not granted")
    };
    call
}

/// Calls a tool.
pub(crate) async fn call(module: &Module, name: &str, arguments: Value) -> ToolResult {
    call_with(module, &CallContext::new("test"), name, arguments).await
}

/// Calls a tool in a context.
pub(crate) async fn call_with(
    module: &Module,
    context: &CallContext,
    name: &str,
    arguments: Value,
) -> ToolResult {
    let call = authorized(module, name, &arguments).await;
    module.invoke(&call, context).await
}

/// The tools of a module, after a look at what every module promises of them: they are these in this order, each comes
/// with its risk and with words of somebody who wants it.
pub(crate) async fn declared(module: &Module, tools: &[(&str, Risk, &str)]) -> Vec<Tool> {
    let names: Vec<_> = tools.iter().map(|(name, ..)| *name).collect();
    assert_eq!(module.actions().collect::<Vec<_>>(), names);
    let mut found = Vec::new();
    for (name, risk, alias) in tools {
        let tool = tool(module, name).await;
        assert_eq!(tool.traits().risk, *risk, "{name}");
        assert_eq!(!tool.traits().side_effects.is_empty(), *risk != Risk::Low, "{name}");
        assert!(tool.aliases().any(|known| known == *alias), "{name}");
        assert_eq!(tool.parameters["additionalProperties"], false, "{name}");
        found.push(tool);
    }
    found
}
