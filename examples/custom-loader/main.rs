//! A custom loader: `cargo run --example custom-loader`.
//!
//! It is registered as `csv`, and `app.yaml` uses it like any other loader: its settings are typed and checked, and its
//! tools are searched, gated and called.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;
use toolcrib_app::{Blueprint, Extensions};
use toolcrib_exec::DenyAll;
use toolcrib_model::{ErrorKind, JsonObject, QualifiedName, Risk, Tool, ToolCall, ToolResult};
use toolcrib_policy::{Authorized, Call};
use toolcrib_port::{CallContext, LoadOutcome, Reject, RejectKind, ToolEngine, ToolLoader};
use toolcrib_runtime::Runtime;
use toolcrib_sdk::{AppEntry, Source};

/// The settings of `type: csv`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    path: String,
    namespace: String,
}

/// A file with a tool on each line: name, description and answer, with semicolons between them.
struct Table {
    source: String,
    path: PathBuf,
    namespace: String,
}

impl Table {
    fn open(settings: Settings, entry: &dyn AppEntry) -> Result<Source, String> {
        if PathBuf::from(&settings.path).extension().is_none_or(|ending| ending != "csv") {
            return Err(format!("`{}` is no csv file", settings.path));
        }
        let source = format!("csv {}", settings.path);
        let table =
            Arc::new(Self { source, path: entry.path(&settings.path), namespace: settings.namespace });
        Ok(Source::new(table.clone()).with_engine(table).local())
    }
}

#[async_trait]
impl ToolLoader for Table {
    fn source(&self) -> &str {
        &self.source
    }

    fn exclusive_namespace(&self) -> Option<&str> {
        Some(&self.namespace)
    }

    async fn load(&self) -> LoadOutcome {
        let text = match std::fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(error) => {
                return LoadOutcome::failed(&self.source, RejectKind::Unreadable, error.to_string());
            }
        };
        let mut loaded = LoadOutcome::default();
        for line in text.lines() {
            let mut cells = line.split(';');
            let (Some(name), Some(description), Some(answer)) = (cells.next(), cells.next(), cells.next())
            else {
                let reason = "a line needs a name, a description and an answer";
                loaded.rejected.push(Reject::tool(&self.source, line, RejectKind::InvalidTool, reason));
                continue;
            };
            match QualifiedName::new(&self.namespace, name) {
                Ok(name) => loaded.tools.push(
                    Tool::new(name)
                        .with_description(description)
                        .with_risk(Risk::Low)
                        .with_metadata("answer", answer),
                ),
                Err(error) => {
                    let reason = error.to_string();
                    loaded.rejected.push(Reject::tool(&self.source, name, RejectKind::InvalidTool, reason));
                }
            }
        }
        loaded
    }
}

#[async_trait]
impl ToolEngine for Table {
    async fn invoke(&self, call: &Authorized<Call>, _context: &CallContext) -> ToolResult {
        match call.tool.metadata().get("answer") {
            Some(answer) => call.ok(answer.clone()),
            None => call.error(ErrorKind::ToolFailed, "the table has no answer"),
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let extensions = Extensions::default().with_loader("csv", |settings, entry| Table::open(settings, entry));
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/app.yaml");
    let runtime = Runtime::start(Blueprint::open_with(path, extensions)?, Arc::new(DenyAll)).await?;
    let found = runtime.discovery().search("when is the shop open", 1, "example".into())?;
    for tool in &found.results {
        println!("found {}: {}", tool.name, tool.description);
        let call = ToolCall::new(tool.name.as_str(), JsonObject::new());
        let result = runtime.executor().call(call, &CallContext::new("example")).await;
        println!("it answers {}", result.result);
    }
    runtime.close().await;
    Ok(())
}
