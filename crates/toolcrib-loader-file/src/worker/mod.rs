//! Modules whose tools a worker serves: one process for many calls, in any language.

mod engine;
mod listing;
mod process;
mod protocol;
mod requests;
mod supervisor;

#[cfg(unix)]
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::sync::Notify;
use toolcrib_io::process::Command;
use toolcrib_model::{Fingerprint, QualifiedName};
use toolcrib_port::{LoadOutcome, RejectKind, ToolLoader};

use self::listing::Listing;
use self::process::{SendError, Worker, WorkerResponse};
use self::protocol::Outgoing;
use self::supervisor::{Supervisor, WorkerUnavailable};
use crate::module_settings::absolute;
use crate::{ModuleSettings, ProgramSandbox};

/// The default time for a worker to start and to list its tools.
pub(crate) const DEFAULT_START_LIMIT: Duration = Duration::from_secs(30);

/// The word that identifies the worker of the Python package in a command line.
const PYTHON_WORKER: &str = "toolcrib.worker";

/// A module whose tools one process serves for many calls: a *worker*, which is started when it is first needed, lists
/// its tools, and is restarted after it ends. Its protocol is JSON lines over standard input and output, as described
/// in `docs/reference/worker-protocol.md`.
///
/// The worker gets the variables that [every child inherits](toolcrib_io::process::INHERITED_ENVIRONMENT), those of
/// its settings, and `TOOLCRIB_WORKSPACE`. Its standard error goes to the log.
pub struct WorkerModule {
    argv: Vec<String>,
    folder: PathBuf,
    source: String,
    settings: ModuleSettings,
    /// The name that the worker gave its module at its first start.
    first_name: OnceLock<String>,
    start_limit: Duration,
    supervisor: Supervisor,
    known: Mutex<LoadedModule>,
    changed: Notify,
}

/// The results of the last load.
#[derive(Default)]
struct LoadedModule {
    description: Option<String>,
    /// The tools by name, with the digests of their schemas.
    tools: BTreeMap<String, Fingerprint>,
    /// The outcome of the load.
    loaded: LoadOutcome,
}

impl WorkerModule {
    /// Creates the module of the worker with this command line. Nothing is started yet.
    pub fn new(
        argv: impl IntoIterator<Item = impl Into<String>>,
        folder: impl AsRef<Path>,
        settings: ModuleSettings,
    ) -> Self {
        let argv: Vec<String> = argv.into_iter().map(Into::into).collect();
        let source = match &settings.namespace {
            Some(namespace) => format!("worker {namespace}"),
            None => format!("worker {}", argv.join(" ")),
        };
        Self {
            source,
            argv,
            folder: absolute(folder.as_ref()),
            settings,
            first_name: OnceLock::new(),
            start_limit: DEFAULT_START_LIMIT,
            supervisor: Supervisor::default(),
            known: Mutex::default(),
            changed: Notify::new(),
        }
    }

    /// Sets the time limit for the worker to start and to list its tools.
    pub fn with_start_limit(mut self, limit: Duration) -> Self {
        self.start_limit = limit;
        self
    }

    /// Returns the running worker, or starts one.
    async fn worker(&self) -> Result<Arc<Worker>, WorkerUnavailable> {
        let prepare = async |worker: &Arc<Worker>| {
            let listing = self.list(worker).await?;
            let tools = fingerprints(&listing.loaded);
            // The registry does not know yet that the tools differ from those of the last worker.
            if !self.known.lock().tools.is_empty() && self.known.lock().tools != tools {
                self.changed.notify_one();
            }
            *worker.tools.lock() = tools;
            Ok(())
        };
        self.supervisor.ready(|| self.command(), &self.label(), self.start_limit, prepare).await
    }

    /// Requests the list of tools from the worker.
    async fn list(&self, worker: &Arc<Worker>) -> Result<Listing, String> {
        let namespace = self.settings.namespace.as_ref().unwrap_or(&worker.name);
        QualifiedName::new(namespace, "tool").map_err(|error| error.to_string())?;
        // The first name remains: a namespace is granted to a source once.
        let first = self.first_name.get_or_init(|| namespace.clone());
        if first != namespace {
            return Err(format!(
                "the worker first called its module `{first}`, and calls it `{namespace}` now; restart the app to apply that"
            ));
        }
        let id = worker.next_id();
        let line = Outgoing::List { id }.line().map_err(|error| error.message)?;
        let mut response = worker.send(id, line).await.map_err(|error| match error {
            SendError::Busy => "it has too many calls under way to list its tools".to_owned(),
            SendError::Lost(reason) => reason.to_string(),
        })?;
        let answer = (&mut response.answer).await;
        match response.end(answer).map_err(|reason| reason.to_string())? {
            WorkerResponse::Tools(line) => listing::read(&line, namespace, &self.source),
            WorkerResponse::NotRead => Err(worker.kill_and_wait().await.to_string()),
            WorkerResponse::Result(Ok(_)) => Err("it answered `list` with `result`; expected `tools`".into()),
            WorkerResponse::Result(Err(error)) => Err(format!("it cannot list its tools: {error}")),
        }
    }

    /// Returns the command that starts the worker.
    fn command(&self) -> Command {
        let mut argv = self.argv.clone();
        if let Some(program) = argv.first_mut()
            && program.contains('/')
        {
            // The full path, under which `access` names it too.
            *program = self.folder.join(&*program).to_string_lossy().into_owned();
        }
        let mut command = Command::new(argv)
            .with_cwd(&self.folder)
            .with_guard(self.settings.access.program_guard())
            .with_sandbox(self.settings.sandbox.as_ref().map(ProgramSandbox::shared));
        if self.argv.iter().any(|word| word.contains(PYTHON_WORKER)) {
            // Prevents Python from importing modules, such as a `json.py`, from the folder that it starts in.
            command = command.with_env("PYTHONSAFEPATH", "1");
        }
        for (name, value) in &self.settings.env {
            command = command.with_env(name, value.expose());
        }
        if let Some(workspace) = self.settings.workspace_text() {
            command = command.with_env("TOOLCRIB_WORKSPACE", workspace);
        }
        command
    }

    /// Returns the name of the worker in the log and in errors.
    fn label(&self) -> String {
        let name = self.settings.namespace.as_ref().or_else(|| self.first_name.get());
        name.map_or_else(|| format!("`{}`", self.argv.join(" ")), |name| format!("of `{name}`"))
    }
}

fn fingerprints(loaded: &LoadOutcome) -> BTreeMap<String, Fingerprint> {
    loaded.tools.iter().map(|tool| (tool.name.name().to_owned(), tool.fingerprint())).collect()
}

#[async_trait]
impl ToolLoader for WorkerModule {
    fn source(&self) -> &str {
        &self.source
    }

    fn exclusive_namespace(&self) -> Option<&str> {
        self.settings.namespace.as_deref().or_else(|| self.first_name.get().map(String::as_str))
    }

    async fn load(&self) -> LoadOutcome {
        if self.supervisor.is_suspended() {
            // No caller may use the tools. Those that are known can be named by the operator.
            return self.known.lock().loaded.clone();
        }
        let failed = |reason: String| LoadOutcome::failed(&self.source, RejectKind::Unavailable, reason);
        let worker = match self.worker().await {
            Ok(worker) => worker,
            Err(error) => return failed(error.to_string()),
        };
        let listed = tokio::time::timeout(self.start_limit, self.list(&worker)).await;
        match listed {
            Ok(Ok(Listing { description, loaded })) => {
                let tools = fingerprints(&loaded);
                worker.tools.lock().clone_from(&tools);
                *self.known.lock() = LoadedModule { description, tools, loaded: loaded.clone() };
                loaded
            }
            Ok(Err(reason)) => failed(format!("the worker {}: {reason}", self.label())),
            Err(_) => failed(format!("the worker {} did not list its tools in time", self.label())),
        }
    }

    fn saved(&self) {
        self.supervisor.retire();
    }

    async fn set_suspended(&self, is_suspended: bool) {
        if is_suspended {
            self.supervisor.suspend().await;
        } else {
            self.supervisor.resume();
        }
    }

    fn instructions(&self) -> Option<String> {
        self.known.lock().description.clone()
    }

    async fn changed(&self) {
        self.changed.notified().await;
    }
}
