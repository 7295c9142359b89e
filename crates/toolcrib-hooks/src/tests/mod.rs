//! Hooks in front of a real executor, with real programs and a real HTTP server.

mod guard;
mod programs;
mod results;
mod settings;
mod webhooks;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use serde_json::{Value, json};
use toolcrib_exec::audit::{Audit, MemorySink};
use toolcrib_exec::{DenyAll, Executor, Hook};
use toolcrib_model::{
    ClientContent, ErrorKind, QualifiedName, ResultNote, Risk, Tool, ToolCall, ToolError, ToolResult,
};
use toolcrib_policy::{Authorized, Call, Policy};
use toolcrib_port::{CallContext, ToolEngine};
use toolcrib_registry::ToolRegistry;

use crate::{ConfiguredHook, HookHost, HookSettings, SettingError};

/// Returns its arguments, with the `meta` for clients, or the failure that they name, and counts its calls.
#[derive(Default)]
struct Echo(AtomicUsize);

#[async_trait]
impl ToolEngine for Echo {
    async fn invoke(&self, call: &Authorized<Call>, _context: &CallContext) -> ToolResult {
        self.0.fetch_add(1, Ordering::SeqCst);
        if let Some(message) = call.arguments.get("fail").and_then(Value::as_str) {
            return call.error(ErrorKind::ToolFailed, message);
        }
        let mut result = call.ok(call.arguments.get("value").cloned().unwrap_or_default());
        if let Some(meta) = call.arguments.get("meta").and_then(Value::as_object) {
            let content = ClientContent { meta: meta.clone(), content: Vec::new() };
            result.note(ResultNote::ClientContent(content));
        }
        result
    }
}

/// An executor with hooks.
struct Fixture {
    executor: Arc<Executor>,
    engine: Arc<Echo>,
    audit: Arc<MemorySink>,
}

impl Fixture {
    fn new(hooks: impl IntoIterator<Item = Arc<dyn Hook>>) -> Self {
        let tool = |name, risk| Tool::new(QualifiedName::new("shop", name).unwrap()).with_risk(risk);
        let any = json!({"type": "object", "properties": {"value": {}, "fail": {"type": "string"}, "meta": {"type": "object"}}});
        let tools = [("list", Risk::Low), ("order", Risk::Medium), ("purge", Risk::High)];
        let tools = tools.map(|(name, risk)| tool(name, risk).with_parameters(any.clone()));
        let registry = ToolRegistry::from_tools("shop", tools).unwrap();
        let rules = json!({
            "default_policy": "grant",
            "grant": [{"module": "shop", "actions": ["list", "order", "purge"]}],
            "deny": [{"arguments": [{"path": "/value", "equals": "forbidden"}], "actions": ["list"]}],
        });
        let policy = Policy::new(&serde_json::from_value(rules).unwrap(), []).unwrap();
        let (engine, audit) = (Arc::new(Echo::default()), Arc::new(MemorySink::new()));
        let executor = Executor::new(Arc::new(registry), Arc::new(policy), Arc::new(DenyAll))
            .with_engine("shop", engine.clone())
            .with_audit(Audit::new(audit.clone()));
        let executor = hooks.into_iter().fold(executor, Executor::with_hook);
        Self { executor: Arc::new(executor), engine, audit }
    }

    async fn call(&self, tool: &str, arguments: Value) -> ToolResult {
        let call = ToolCall::new(tool, arguments.as_object().unwrap().clone());
        self.executor.call(call, &CallContext::new("s").with_agent("clerk")).await
    }

    /// Returns the result of a call whose result is its value.
    async fn result(&self, value: Value) -> ToolResult {
        self.call("shop.list", json!({"value": value})).await
    }

    async fn error(&self) -> ToolError {
        self.call("shop.list", json!({"value": 1})).await.error.unwrap()
    }

    fn runs(&self) -> usize {
        self.engine.0.load(Ordering::SeqCst)
    }

    fn hook_records(&self) -> Value {
        serde_json::to_value(self.audit.records().last().unwrap()).unwrap()["hooks"].clone()
    }
}

fn configured(settings: Value) -> Result<ConfiguredHook, SettingError> {
    let settings: HookSettings = serde_json::from_value(settings).unwrap();
    let host = HookHost { app: "app.yaml".to_owned(), folder: std::env::temp_dir() };
    ConfiguredHook::new(&settings, &host)
}

/// Returns an executor with a hook of these settings.
fn hooked(settings: Value) -> Fixture {
    Fixture::new([Arc::new(configured(settings).unwrap()) as Arc<dyn Hook>])
}

/// Returns the settings of a hook that is a line of shell.
fn shell(when: &str, line: &str) -> Value {
    json!({"name": "check", "when": when, "run": ["sh", "-c", line]})
}

/// Returns an executor with a hook that answers with a JSON value.
fn answering(when: &str, answer: &Value) -> Fixture {
    hooked(json!({"name": "check", "when": when, "run": ["printf", "%s", answer.to_string()]}))
}
