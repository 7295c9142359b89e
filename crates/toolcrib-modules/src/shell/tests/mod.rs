//! What the module promises, with real processes.

mod declared;
mod gone;
mod kept;
mod run;
mod script;
mod tasks;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use toolcrib_model::{ToolError, ToolResult};
use toolcrib_policy::Access;
use toolcrib_policy::access::AccessRules;
use toolcrib_port::{CallContext, ToolEngine as _};
use toolcrib_sdk::Module;
use toolcrib_testkit::{Process, processes_of, wait_until};

use super::{Shell, ShellConfig, module_for};
use crate::ModuleContext;
use crate::tests::authorized;

/// How long any of these tests waits for what must happen.
const PATIENCE: Duration = Duration::from_secs(20);

/// A workspace, and the module over it.
struct Place {
    folder: TempDir,
    shell: Shell,
    module: Module,
}

impl Place {
    fn new() -> Self {
        Self::with(json!({}), None)
    }

    /// One where scripts run: most of what programs can do is written down most shortly as one.
    fn with_scripts() -> Self {
        Self::with(json!({"allow_scripts": true}), None)
    }

    fn with(config: Value, access: Option<Value>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config: ShellConfig = serde_json::from_value(config).unwrap();
        let rules: Option<AccessRules> = access.map(|rules| serde_json::from_value(rules).unwrap());
        let access = rules.as_ref().map_or_else(Access::unlimited, |rules| Access::new(rules).unwrap());
        let shell = Shell::new(config, &ModuleContext::new(folder.path()).with_access(access)).unwrap();
        let module = module_for(shell.clone());
        Self { folder, shell, module }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    async fn call_in(&self, session: &str, name: &str, arguments: Value) -> ToolResult {
        self.call_with(&CallContext::new(session), name, arguments).await
    }

    async fn call_with(&self, context: &CallContext, name: &str, arguments: Value) -> ToolResult {
        let call = authorized(&self.module, name, &arguments).await;
        self.module.invoke(&call, context).await
    }

    /// The result of a call that succeeds.
    async fn ok(&self, name: &str, arguments: Value) -> Value {
        let result = self.call_in("test", name, arguments).await;
        assert_eq!(result.error, None);
        result.result
    }

    /// The error of a call that fails.
    async fn error(&self, name: &str, arguments: Value) -> ToolError {
        self.call_in("test", name, arguments).await.error.unwrap()
    }

    /// What runs in the workspace, or was started there.
    fn processes(&self) -> Vec<Process> {
        processes_of(self.path()).unwrap()
    }

    /// Waits until so many processes run in the workspace.
    async fn await_processes(&self, count: usize) -> Vec<Process> {
        let look = || {
            let found = self.processes();
            Ok((found.len() == count).then_some(found))
        };
        wait_until(&format!("{count} processes"), PATIENCE, look).await.unwrap()
    }

    /// Waits for a file to be there, by which a program says that it has come so far.
    async fn await_file(&self, name: &str) {
        let path = self.path().join(name);
        wait_until(&format!("the file {name}"), PATIENCE, || Ok(path.exists().then_some(()))).await.unwrap();
    }
}

/// Someone who keeps what is told of a call.
#[derive(Default)]
struct Listener(parking_lot::Mutex<Vec<toolcrib_port::Progress>>);

impl toolcrib_port::ProgressListener for Listener {
    fn progress(&self, progress: &toolcrib_port::Progress) {
        self.0.lock().push(progress.clone());
    }
}

/// A context, and what is told of its call.
fn watched() -> (CallContext, Arc<Listener>) {
    let listener = Arc::new(Listener::default());
    (CallContext::new("test").with_progress(listener.clone()), listener)
}
