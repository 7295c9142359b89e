//! An entry of an app file, as the extension sees it that the entry names.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::Value;
use toolcrib_document::{Document, Error as DocumentError};
use toolcrib_io::files::ProtectedFiles;
use toolcrib_loader_mcp::TrustLock;
use toolcrib_modules::ModuleContext;
use toolcrib_modules::memory::Memory;
use toolcrib_policy::Access;
use toolcrib_registry::SessionTools;
use toolcrib_results::Secrets;
use toolcrib_tasks::Scheduler;

use crate::{AppFile, nesting};

/// The parts of an app that its extensions share while it is built.
pub(crate) struct AppContext<'a> {
    pub(crate) file: &'a AppFile,
    /// The access that `tools.capabilities.access` leaves.
    pub(crate) access: Result<Access, DocumentError>,
    /// The files that this app, those that call it and those that it calls are made of.
    pub(crate) protected: &'a ProtectedFiles,
    /// The store of the module `memory`.
    pub(crate) memory: &'a Memory,
    /// The tools of its schedules.
    pub(crate) scheduler: &'a Scheduler,
    /// The tools that single sessions add.
    pub(crate) session_tools: &'a SessionTools,
    /// The approved state of its servers, or why it cannot be read.
    pub(crate) pins: Result<Option<Arc<TrustLock>>, String>,
    pub(crate) startup_timeout: Duration,
    pub(crate) is_lazy: bool,
}

/// The entry of an app file that names an extension.
pub struct EntryContext<'a> {
    pub(crate) app: &'a AppContext<'a>,
    pub(crate) pointer: &'a str,
    pub(crate) settings: &'a Value,
    /// The `access` of the entry, if it has one.
    pub(crate) access: Option<&'a Access>,
}

impl EntryContext<'_> {
    /// Returns a path of the app file, relative to its folder.
    pub fn path(&self, path: &str) -> PathBuf {
        self.app.file.path(path)
    }

    /// Returns the folder that the paths of the app file are relative to.
    pub fn folder(&self) -> &Path {
        &self.app.file.folder
    }

    /// Returns the folder that the app's tools work in.
    pub fn workspace(&self) -> Result<PathBuf, String> {
        self.app.file.workspace().map_err(|error| error.to_string())
    }

    /// Returns the name of the app file, for messages.
    pub fn file(&self) -> &str {
        &self.app.file.name
    }

    /// Returns the app file as it was read.
    pub fn document(&self) -> &Document {
        &self.app.file.document
    }

    /// Returns the secrets of the app, for a source that is given some while it runs.
    pub fn secrets(&self) -> &Secrets {
        &self.app.file.secrets
    }

    /// Returns the JSON pointer of the entry.
    pub fn pointer(&self) -> &str {
        self.pointer
    }

    /// Returns the default startup timeout of a server.
    pub fn startup_timeout(&self) -> Duration {
        self.app.startup_timeout
    }

    /// Returns the key of this app in the caches of its sources.
    pub(crate) fn scope(&self) -> String {
        let folder = self.folder();
        folder.canonicalize().unwrap_or_else(|_| folder.to_owned()).display().to_string()
    }

    /// Returns true if a command line in this folder serves the app that names it.
    pub(crate) fn serves_itself(&self, command: &[String], cwd: &Path) -> bool {
        self.app.file.is_on_disk && nesting::serves(command, cwd, Path::new(self.file()))
    }

    /// Returns whether sources may be told of from memory, without being started. A strict app asks all of them: one
    /// that cannot be loaded stops it.
    pub(crate) fn is_lazy(&self) -> bool {
        self.app.is_lazy
    }

    /// Returns the approved state of the app's servers; `None` for an app that is not in a file.
    pub(crate) fn pins(&self) -> Result<Option<Arc<TrustLock>>, String> {
        self.app.pins.clone()
    }

    /// Returns the access of the tools of this entry, for engines to enforce.
    pub fn access(&self) -> Result<Access, String> {
        let access = self.app.access.clone().map_err(|error| error.to_string())?;
        Ok(match self.access {
            Some(own) => access.and(own),
            None => access,
        })
    }

    /// Returns the context of a built-in module.
    pub(crate) fn module_context(&self) -> Result<ModuleContext, String> {
        Ok(ModuleContext::new(self.workspace()?)
            .with_access(self.access()?)
            .with_memory(self.app.memory.clone())
            .with_protected(self.app.protected.clone()))
    }

    /// Returns the files that the app consists of, for a module that opens a separate
    /// [`Root`](toolcrib_io::files::Root).
    pub fn protected(&self) -> &ProtectedFiles {
        self.app.protected
    }

    pub(crate) fn typed<T: DeserializeOwned>(&self) -> Result<T, DocumentError> {
        let file = self.app.file;
        let typed = file.document.deserialize_value(self.settings, self.pointer);
        typed.map_err(|error| file.readable(error, self.pointer))
    }

    pub(crate) fn error(&self, message: impl Into<String>) -> DocumentError {
        self.app.file.readable(self.app.file.error_at(self.pointer, message), self.pointer)
    }
}
