//! What loader and engine promise together: on real files, against a real server.

mod auth;
mod calls;
mod corpus;
mod documents;
mod hostile;
mod hostile_documents;
mod hostile_files;
mod hostile_sources;
mod loading;
mod logins;
mod server;
mod users;

use std::sync::Arc;

use serde_json::Value;
use toolcrib_model::{Tool, ToolResult};
use toolcrib_policy::{Call, Capabilities, Effect, Policy, Verdict};
use toolcrib_port::{CallContext, LoadOutcome, ToolEngine, ToolLoader};

use crate::{RestEngine, RestSource};

/// A source that was loaded, and its engine.
struct Fixture {
    loaded: LoadOutcome,
    engine: RestEngine,
}

impl Fixture {
    async fn open(source: RestSource) -> Self {
        let (source, engine) = source.open().unwrap();
        Self { loaded: source.load().await, engine }
    }

    fn tool(&self, name: &str) -> &Tool {
        let names = || self.loaded.tools.iter().map(|tool| tool.name.name()).collect::<Vec<_>>();
        let tool = self.loaded.tools.iter().find(|tool| tool.name.name() == name);
        tool.unwrap_or_else(|| panic!("no {name} in {:?}, {:?}", names(), self.loaded.rejected))
    }

    /// Calls a tool through the policy, as the executor does.
    async fn call(&self, name: &str, arguments: Value) -> ToolResult {
        invoke(&self.engine, self.tool(name).clone(), arguments).await
    }

    /// Calls a tool for a user.
    async fn call_as(&self, user: &str, name: &str, arguments: Value) -> ToolResult {
        self.call_in(&CallContext::new("session").with_user(user), name, arguments).await
    }

    async fn call_in(&self, context: &CallContext, name: &str, arguments: Value) -> ToolResult {
        invoke_in(&self.engine, self.tool(name).clone(), arguments, context).await
    }
}

async fn invoke(engine: &RestEngine, tool: Tool, arguments: Value) -> ToolResult {
    invoke_in(engine, tool, arguments, &CallContext::new("session")).await
}

async fn invoke_in(engine: &RestEngine, tool: Tool, arguments: Value, context: &CallContext) -> ToolResult {
    // High risk is granted by name only.
    let capabilities: Capabilities = serde_json::from_value(serde_json::json!({
        "grant": [{"module": tool.name.namespace(), "actions": [tool.name.name()]}],
    }))
    .unwrap();
    let capabilities = Capabilities { default_policy: Effect::Grant, ..capabilities };
    let policy = Policy::new(&capabilities, []).unwrap();
    let mut call = Call::new(Arc::new(tool), "test".into(), 1);
    call.arguments = arguments.as_object().unwrap().clone();
    match policy.authorize(call, "session") {
        Verdict::Granted(call) => engine.invoke(&call, context).await,
        other => panic!("not granted: {other:?}"),
    }
}
