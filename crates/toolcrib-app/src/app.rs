//! An app file that has been read and checked.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use toolcrib_agent::Provider;
use toolcrib_document::{Document, Format, Limits, parse};
use toolcrib_io::files::{ProtectedFiles, make_private, read_bounded};
use toolcrib_loader_mcp::{Authorization, DEFAULT_STARTUP_TIMEOUT, TrustLock, TrustLockError};
use toolcrib_modules::memory::Memory;
use toolcrib_policy::RUNTIME_NAMESPACE;
use toolcrib_port::{ToolEngine as _, ToolLoader};
use toolcrib_registry::{SessionTools, Snapshot, ToolRegistry};
use toolcrib_results::Secrets;
use toolcrib_sdk::Module;
use toolcrib_search::embedding::DEFAULT_WAIT;
use toolcrib_tasks::{Scheduler, Skills};

use crate::sources::{state_folder, state_name};
use crate::{
    AgentConfig, AppConfig, Error, Extensions, TaskStore, call_app, config::channels, config::empty_sections,
    config::former_names, config::skills, config::validation, config::variables, modules, protected_files,
    sources,
};

/// The most bytes of an app file.
const MAX_APP_BYTES: u64 = 1024 * 1024;

#[derive(Clone, Debug)]
struct Lock {
    path: PathBuf,
    pins: Arc<OnceLock<Arc<TrustLock>>>,
}

/// An app file that has been read and checked. Nothing of it is loaded or started yet.
#[derive(Clone, Debug)]
pub struct App {
    /// The configuration of the file.
    pub config: AppConfig,
    /// The file, as it was named.
    pub file: String,
    /// The folder that its paths are relative to.
    pub folder: PathBuf,
    /// The default startup timeout of MCP servers; 10 s unless set.
    pub startup_timeout: Duration,
    /// True to list tools of MCP servers from the cache, without starting the servers; `true` unless set.
    pub lazy: bool,
    /// True to run with all tools or not at all, so that every source is loaded at start; the value of the file and of
    /// [`Extensions::strict`] unless set.
    pub strict: bool,
    /// The time that the start waits for the vectors of semantic search; [`DEFAULT_WAIT`] unless set. Until they are ready,
    /// tools are found by their words.
    pub search_patience: Duration,
    /// True to run the `setup` actions of its modules at start; `true` unless set. Commands that only inspect an app
    /// leave them out.
    pub setup: bool,
    /// The store of its tasks; in this process unless set.
    pub tasks: TaskStore,
    /// The lock file, and what it says once it has been read.
    lock: Option<Lock>,
    pub(crate) extensions: Arc<Extensions>,
    pub(crate) document: Document,
    /// The store of the module `memory`.
    pub(crate) memory: Memory,
    /// The tools of its schedules.
    pub(crate) scheduler: Scheduler,
    /// The tools that single sessions add.
    pub(crate) session_tools: SessionTools,
    /// The skills that its agents can load.
    pub(crate) skills: Arc<Skills>,
    /// The files of the apps that call this one, the outermost first.
    pub(crate) above: Arc<[PathBuf]>,
    /// The files that this app, those that call it and those that it calls are made of.
    pub(crate) protected: ProtectedFiles,
    /// Notes on keys that were read under a former name, and on probable mistakes.
    notes: Vec<String>,
    /// The apps that it may call, by name.
    pub(crate) called: BTreeMap<String, App>,
}

impl App {
    /// Reads and checks an app file.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_with(path, Extensions::default())
    }

    /// Reads and checks an app file that may name what other crates bring.
    pub fn open_with(path: impl AsRef<Path>, extensions: Extensions) -> Result<Self, Error> {
        Self::open_below(path.as_ref(), extensions, Arc::default(), ProtectedFiles::default())
    }

    /// Reads an app that others call, the outermost first, which share what is protected.
    pub(crate) fn open_below(
        path: &Path,
        extensions: Extensions,
        above: Arc<[PathBuf]>,
        protected: ProtectedFiles,
    ) -> Result<Self, Error> {
        let bytes = read_bounded(path, MAX_APP_BYTES).map_err(|source| Error::Unreadable { source })?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut lock = path.as_os_str().to_owned();
        lock.push(".lock");
        let lock = Lock { path: lock.into(), pins: Arc::default() };
        Self::read(
            path.display().to_string(),
            folder.to_owned(),
            Some(lock),
            Format::detect(path, &bytes),
            &bytes,
            extensions,
            (above, protected),
        )
    }

    /// Checks an app given as YAML text. The name stands in errors; paths are relative to the current folder.
    pub fn from_text(file: impl Into<String>, text: &str) -> Result<Self, Error> {
        Self::from_text_with(file, text, Extensions::default())
    }

    /// Returns the same with what other crates bring.
    pub fn from_text_with(
        file: impl Into<String>,
        text: &str,
        extensions: Extensions,
    ) -> Result<Self, Error> {
        Self::read(
            file.into(),
            PathBuf::from("."),
            None,
            Format::Yaml,
            text.as_bytes(),
            extensions,
            (Arc::default(), ProtectedFiles::default()),
        )
    }

    fn read(
        file: String,
        folder: PathBuf,
        lock: Option<Lock>,
        format: Format,
        bytes: &[u8],
        extensions: Extensions,
        (above, protected): (Arc<[PathBuf]>, ProtectedFiles),
    ) -> Result<Self, Error> {
        let wrong = |error| Error::App { file: file.clone(), errors: vec![error] };
        let mut document = parse(bytes, format, &Limits::default()).map_err(wrong)?;
        let notes = former_names::rename(&mut document);
        if let Some(removed) = former_names::removed_section(&document) {
            return Err(wrong(removed));
        }
        empty_sections::fill(&mut document.value);
        let config: AppConfig = match &document.value {
            serde_json::Value::Null if lock.is_some() => {
                return Err(wrong(
                    document.error_at("", "the file is empty; `toolcrib init` writes a starter app"),
                ));
            }
            // An empty text is an app without anything.
            serde_json::Value::Null => AppConfig::default(),
            serde_json::Value::Object(_) => document.deserialize().map_err(wrong)?,
            _ => {
                return Err(wrong(
                    document.error_at("", "an app file is a mapping, with keys such as `agents` and `tools`"),
                ));
            }
        };
        let mut app = Self {
            strict: config.tools.strict || extensions.is_strict,
            config,
            memory: memory(lock.is_some().then_some(&file)),
            scheduler: Scheduler::default(),
            session_tools: SessionTools::default(),
            file,
            folder,
            setup: true,
            tasks: TaskStore::default(),
            startup_timeout: DEFAULT_STARTUP_TIMEOUT,
            lazy: true,
            search_patience: DEFAULT_WAIT,
            lock,
            extensions: Arc::new(extensions),
            document,
            skills: Arc::default(),
            above,
            protected,
            notes,
            called: BTreeMap::new(),
        };
        app.skills = Arc::new(skills::read(&app));
        protected_files::protect(&app);
        let (mut errors, warnings) = validation::check(&app);
        app.notes.extend(warnings);
        match call_app::open(&app) {
            Ok(called) => app.called = called,
            Err(wrong) => errors.extend(wrong),
        }
        errors.sort_by_key(toolcrib_document::Error::position);
        if errors.is_empty() { Ok(app) } else { Err(Error::App { file: app.file, errors }) }
    }

    /// Returns the values of the file's variables that are secrets. They are taken out of results; a logger should take
    /// them out of what it writes.
    pub fn secrets(&self) -> &Secrets {
        &self.extensions.secrets
    }

    /// Returns the approved state of the app's MCP servers, and the changes since: the lock file next to the app file,
    /// as
    /// `app.yaml.lock`. `None` for an app that was not read from a file.
    pub fn pins(&self) -> Result<Option<Arc<TrustLock>>, TrustLockError> {
        let Some(lock) = &self.lock else { return Ok(None) };
        if let Some(pins) = lock.pins.get() {
            return Ok(Some(Arc::clone(pins)));
        }
        let pins = Arc::new(TrustLock::open(&lock.path)?);
        Ok(Some(Arc::clone(lock.pins.get_or_init(|| pins))))
    }

    /// Returns the name of the app.
    pub fn id(&self) -> &str {
        self.config.app.id.as_deref().unwrap_or(&self.file)
    }

    /// Returns warnings about settings that have no effect.
    pub fn warnings(&self) -> Vec<String> {
        let notes = self.notes.iter().cloned();
        notes
            .chain(crate::config::search::warning(self))
            .chain(skills::warnings(self))
            .chain(channels::unreachable(self))
            .chain(self.config.agents.iter().filter_map(missing_model))
            .chain(self.config.agents.iter().filter_map(|agent| self.missing_recording(agent)))
            .collect()
    }

    /// Says which files of the workspace tools cannot change because the app is made of them, and what still can;
    /// `None` where the app is not in the workspace, or has no tool that writes there.
    pub fn workspace_warning(&self) -> Option<String> {
        protected_files::warning(self)
    }

    fn missing_recording(&self, agent: &AgentConfig) -> Option<String> {
        let Some(recording) = &agent.brain.recording else {
            let is_needed = agent.brain.provider == Provider::Recorded;
            return is_needed.then(|| {
                format!("the agent `{}` has no `recording`; it needs `toolcrib run --replay FILE`", agent.id)
            });
        };
        let path = variables::expanded(self, recording, "", true).ok()?;
        let is_missing = !self.path(&path).is_file();
        is_missing.then(|| format!("the recording `{path}` of the agent `{}` is not there", agent.id))
    }

    /// Returns the authorization at the MCP server of this namespace, for a login.
    pub fn authorization(&self, namespace: &str) -> Result<Authorization, Error> {
        let failed = |message: String| Error::Start { what: self.file.clone(), message };
        let sources =
            sources::sources(self).map_err(|errors| Error::App { file: self.file.clone(), errors })?;
        let mut unusable =
            sources.iter().filter(|source| source.loader.source() == format!("mcp {namespace}"));
        if let Some(reason) = unusable.find_map(|source| source.unusable.clone()) {
            return Err(failed(reason));
        }
        let servers: Vec<_> = sources.into_iter().filter_map(|source| source.mcp).collect();
        let Some(server) = servers.iter().find(|server| server.namespace == namespace) else {
            let known: Vec<_> = servers.iter().map(|server| format!("`{}`", server.namespace)).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            return Err(failed(format!(
                "there is no MCP server of the namespace `{namespace}`; there is: {known}"
            )));
        };
        match Authorization::of(server) {
            Some(authorization) => authorization.map_err(|error| failed(error.to_string())),
            None => Err(failed(format!(
                "`{namespace}` needs no login: it is a command, or its `headers` hold the credentials"
            ))),
        }
    }

    /// Loads the modules and the sources that are files: what they hold, what of it cannot be used, and warnings about
    /// the rest. Nothing is started, and nothing remote is reached.
    pub async fn check_local_sources(&self) -> Result<(Arc<Snapshot>, Vec<String>), Error> {
        let sources =
            sources::sources(self).map_err(|errors| Error::App { file: self.file.clone(), errors })?;
        let local: Vec<_> =
            sources.into_iter().filter(|source| source.is_local).map(|source| source.loader).collect();
        // Their namespaces, and that of the runtime, are their own, as they are when the app starts.
        let own = Module::new(RUNTIME_NAMESPACE, "");
        let modules = modules::modules(self).map_err(|error| self.wrong(error))?;
        let modules: Vec<_> = [own].into_iter().chain(modules).map(Arc::new).collect();
        let loaders = modules.iter().map(|module| Arc::clone(module) as Arc<dyn ToolLoader>);
        let snapshot = ToolRegistry::from_loaders(loaders.chain(local.iter().cloned())).await.snapshot();
        for module in modules {
            module.close().await;
        }
        Ok((snapshot, local.iter().flat_map(|loader| loader.warnings()).collect()))
    }

    /// Opens the audit file. Nothing is recorded if the app names no file.
    pub fn audit(&self) -> Result<toolcrib_exec::audit::Audit, Error> {
        crate::config::audit::open(self)
    }

    /// Returns an error of the value at a pointer as it can be shown: without the secrets that a wrong value holds, and
    /// at the nearest place that is there, where the value is not.
    pub(crate) fn readable(
        &self,
        mut error: toolcrib_document::Error,
        pointer: &str,
    ) -> toolcrib_document::Error {
        if let toolcrib_document::Error::Shape { position, message, .. } = &mut error {
            *message = self.secrets().redactor().redact(message).into_owned();
            let mut pointer = pointer;
            while position.is_none() {
                *position = self.document.position_of(pointer);
                let Some((parent, _)) = pointer.rsplit_once('/') else { break };
                pointer = parent;
            }
        }
        error
    }

    /// Returns true if it was read from a file.
    pub(crate) fn is_in_file(&self) -> bool {
        self.lock.is_some()
    }

    /// Returns a path of the app file, relative to its folder.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        // Without the `./` that it may begin with: the folder may be `.` itself.
        let parts = Path::new(path).components().filter(|part| *part != Component::CurDir);
        let mut path = self.folder.clone();
        path.extend(parts);
        path
    }

    /// Returns the folder that file tools work in.
    pub(crate) fn workspace(&self) -> Result<PathBuf, toolcrib_document::Error> {
        match self.config.app.workspace.as_deref() {
            None => Ok(self.folder.clone()),
            Some(text) => {
                variables::expanded(self, text, "/app/workspace", true).map(|path| self.path(&path))
            }
        }
    }

    /// Returns an error of this file that is not an [`Error`] yet.
    pub(crate) fn wrong(&self, error: toolcrib_document::Error) -> Error {
        Error::App { file: self.file.clone(), errors: vec![error] }
    }

    /// Returns true if another reading of the file has the same values; comments are ignored.
    pub fn says_the_same(&self, other: &Self) -> bool {
        self.document.value == other.document.value
    }

    pub(crate) fn error_at(&self, pointer: &str, message: impl Into<String>) -> Error {
        self.wrong(self.document.error_at(pointer, message))
    }
}

/// Returns a warning about an agent whose server is asked for no model by name.
fn missing_model(agent: &AgentConfig) -> Option<String> {
    let brain = &agent.brain;
    let is_asked = brain.provider != Provider::Recorded && brain.model.trim().is_empty();
    is_asked.then(|| {
        format!("the agent `{}` names no `model`; most servers refuse a request without one", agent.id)
    })
}

/// Returns the store of the module `memory` for an app: a separate file in the folder for program state, or in this
/// process if there is no such folder or the app is not in a file.
fn memory(file: Option<&String>) -> Memory {
    let in_folder = file.and_then(|file| Some((file, state_folder("memory")?)));
    in_folder.map_or_else(Memory::in_process, |(file, folder)| {
        // Versions before this one let others read it. Where that cannot be changed, its files are private all the same.
        let _ = make_private(&folder);
        Memory::in_file(folder.join(format!("{}.json", state_name(Path::new(file)))))
    })
}
