//! Tests against real servers: shell scripts over stdio, an rmcp server over HTTP, a published server of others.

mod backoff;
mod calls;
mod convert;
mod elicitation;
mod eras;
mod generation;
mod http;
mod kept;
mod module;
mod opening;
mod peers;
mod per_session;
mod server;
mod sse;
mod stdio;
mod trust_lock;
mod unreadable;
mod watch;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use toolcrib_model::{JsonObject, QualifiedName, Tool, ToolResult};
use toolcrib_policy::{Authorized, Call, Capabilities, Policy, Verdict};
use toolcrib_port::{CallContext, ToolEngine};

/// How long a test waits for what must happen. Only a failing test waits so long.
const PATIENCE: Duration = Duration::from_secs(30);

/// A call of a tool of this name that the policy let through.
pub(crate) fn authorized(tool: &str, arguments: Value) -> Authorized<Call> {
    authorized_tool(Tool::new(QualifiedName::new("test", tool).unwrap()), arguments)
}

/// A call of this tool that the policy let through.
fn authorized_tool(tool: Tool, arguments: Value) -> Authorized<Call> {
    let capabilities: Capabilities = serde_json::from_value(json!({"default_policy": "grant"})).unwrap();
    let policy = Policy::new(&capabilities, []).unwrap();
    let mut call = Call::new(Arc::new(tool), "mcp test".into(), 1);
    call.arguments = serde_json::from_value::<JsonObject>(arguments).unwrap();
    match policy.authorize(call, "session") {
        Verdict::Granted(call) => call,
        other => panic!("not granted: {other:?}"),
    }
}

/// One call; the future owns it.
pub(crate) async fn invoke(
    engine: &impl ToolEngine,
    call: Authorized<Call>,
    context: &CallContext,
) -> ToolResult {
    engine.invoke(&call, context).await
}

pub(crate) fn context() -> CallContext {
    CallContext::new("session")
}

/// Asks again and again until there is an answer.
pub(crate) async fn eventually<T, F: Future<Output = Option<T>>>(mut probe: impl FnMut() -> F) -> T {
    let found = async {
        loop {
            if let Some(found) = probe().await {
                return found;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, found).await.expect("it happens in the end")
}
