//! The entries of app files that this crate reads: `type: file`, `inline` and `exec` of `tools.registry`, and `command` of
//! `tools.engines`.

mod programs;

use std::path::PathBuf;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use toolcrib_io::process::{SandboxPlace, SandboxSettings};
use toolcrib_port::ToolEngine;
use toolcrib_sdk::{AppEntry, Source};

pub use self::programs::{ExecEntry, exec};
use crate::command::{CommandEngine, CommandSettings};
use crate::program_sandbox::sandbox_access;
use crate::{FileLoader, InlineLoader, ProgramSandbox};

/// The settings of `type: file`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileEntry {
    path: String,
    namespace: Option<String>,
    /// True to load a saved file again.
    #[serde(default)]
    watch: bool,
}

/// The settings of `type: inline`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InlineEntry {
    namespace: String,
    /// Read where they stand, so that what is wrong with one is said at its place.
    #[serde(rename = "tools")]
    _tools: Value,
}

/// Opens the source of a file.
pub fn file(entry: FileEntry, place: &dyn AppEntry) -> Source {
    let path = place.path(&entry.path);
    let watched = entry.watch.then(|| path.clone());
    let mut loader = FileLoader::new(path);
    if let Some(namespace) = entry.namespace {
        loader = loader.with_source(format!("file {} as {namespace}", entry.path)).with_namespace(namespace);
    }
    Source::new(Arc::new(loader)).local().with_watched(watched)
}

/// Opens the source of tools that stand in the entry itself.
pub fn inline(InlineEntry { namespace, .. }: &InlineEntry, place: &dyn AppEntry) -> Source {
    let tools = format!("{}/tools", place.pointer());
    let loader = InlineLoader::new(place.document(), &tools, namespace, place.file());
    Source::new(Arc::new(loader)).local()
}

/// Opens the engine of `type: command`.
///
/// # Errors
///
/// Returns a message for the operator if a command line is wrong, or names a program that may not be started.
pub fn command(mut settings: CommandSettings, place: &dyn AppEntry) -> Result<Arc<dyn ToolEngine>, String> {
    let cwd = match settings.cwd.take() {
        Some(cwd) => place.folder().join(cwd),
        // A sandboxed program reads its working directory, and the folder of the app may contain keys.
        None if settings.sandbox.is_some() => place.workspace()?,
        None => place.folder().to_owned(),
    };
    settings.cwd = Some(cwd);
    let access = place.access()?;
    let name = place.pointer().rsplit('/').next().unwrap_or_default();
    let sandbox = sandbox(settings.sandbox.take(), name, place)?;
    let engine = CommandEngine::new(settings).map_err(|error| error.to_string())?;
    engine.programs().try_for_each(|program| place.may_start(program))?;
    Ok(Arc::new(engine.with_access(access).with_sandbox(sandbox)))
}

/// Returns the sandbox of the programs of an entry, or of programs with this name.
///
/// # Errors
///
/// Returns a message for the operator if this system cannot enforce the sandbox.
pub fn sandbox(
    settings: Option<SandboxSettings>,
    name: &str,
    place: &dyn AppEntry,
) -> Result<Option<ProgramSandbox>, String> {
    let Some(settings) = settings else { return Ok(None) };
    let (workspace, protected) = (place.workspace()?, [PathBuf::from(place.file())]);
    let access: Vec<_> = place.access()?.rules().map(sandbox_access).collect();
    let place = SandboxPlace {
        name,
        folder: place.folder(),
        workspace: &workspace,
        protected: &protected,
        access: &access,
    };
    let sandbox = settings.open(&place).map_err(|error| error.to_string())?;
    Ok(Some(ProgramSandbox::new(sandbox, workspace)))
}
