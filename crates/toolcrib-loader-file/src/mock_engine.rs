//! The engine with canned results.

use std::collections::BTreeMap;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::Value;
use toolcrib_model::{ErrorKind, ToolError, ToolResult};
use toolcrib_policy::{Authorized, Call};
use toolcrib_port::{CallContext, ToolEngine};

/// The settings in `tools.engines.<name>` of `type: mock`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct MockSettings {
    /// The results of single tools, by bare name.
    #[serde(default)]
    pub results: BTreeMap<String, Value>,
    /// The result of every other tool. Without it, calls of other tools fail.
    #[serde(default)]
    pub default: Option<Value>,
}

/// An engine with canned results, to try out an app before its tools exist.
#[derive(Clone, Debug, Default)]
pub struct MockEngine {
    settings: MockSettings,
}

impl MockEngine {
    /// Creates an engine with these results.
    pub fn new(settings: MockSettings) -> Self {
        Self { settings }
    }
}

#[async_trait]
impl ToolEngine for MockEngine {
    async fn invoke(&self, call: &Authorized<Call>, _context: &CallContext) -> ToolResult {
        let tool = call.tool.name.name();
        if let Some(result) = self.settings.results.get(tool).or(self.settings.default.as_ref()) {
            call.ok(result.clone())
        } else {
            let known: Vec<_> = self.settings.results.keys().map(String::as_str).collect();
            let message = format!("the mock engine has no result for `{tool}`");
            let hint = format!("add it under `results`, or set `default`; there is: {}", known.join(", "));
            call.failed(ToolError::new(ErrorKind::ToolFailed, message).with_hint(hint))
        }
    }
}
