//! Folders of programs, and workers: `type: exec`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use toolcrib_io::process::SandboxSettings;
use toolcrib_model::Secret;
use toolcrib_sdk::{AppEntry, Seconds, Source};

use super::sandbox;
use crate::worker::DEFAULT_START_LIMIT;
use crate::worker::WorkerModule;
use crate::{ExecModule, ModuleSettings, ProgramSandbox};

/// The settings of `type: exec`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExecEntry {
    /// The folder with the manifest; of a worker the folder that it starts in, by default that of the app file.
    path: Option<String>,
    /// The words that start a process which serves the tools itself.
    worker: Option<Vec<String>>,
    /// The `name` of the manifest by default, or the one that the worker gives.
    namespace: Option<String>,
    /// Variables of its programs: the place for keys.
    #[serde(default)]
    env: BTreeMap<String, Secret>,
    /// The time that a worker has to start and to list its tools.
    startup_timeout_seconds: Option<Seconds>,
    /// The files and the network that its programs can reach.
    sandbox: Option<SandboxSettings>,
    /// True to load a saved manifest again, and to replace a worker when its source files are saved.
    #[serde(default)]
    watch: bool,
}

/// Opens the source of a folder of programs, or of a worker. Which programs may be started is asked when the manifest
/// is read, and of each call; of a worker when it is started.
///
/// # Errors
///
/// Returns a message for the operator if the settings are wrong.
pub fn exec(mut entry: ExecEntry, place: &dyn AppEntry) -> Result<Source, String> {
    match entry.worker.take() {
        Some(argv) => worker(argv, entry, place),
        None => programs(entry, place),
    }
}

fn programs(entry: ExecEntry, place: &dyn AppEntry) -> Result<Source, String> {
    let path = entry
        .path
        .ok_or("missing field `path`, the folder of the manifest; or `worker`, the words that start one")?;
    let sandbox = sandbox(entry.sandbox, entry.namespace.as_deref().unwrap_or(&path), place)?;
    let module = ExecModule::new(place.path(&path), settings(entry.namespace, entry.env, sandbox, place)?);
    let watched = entry.watch.then(|| module.manifest());
    let module = Arc::new(module);
    Ok(Source::new(module.clone()).local().with_engine(module).with_watched(watched))
}

/// Loading it starts a process, so `validate` leaves it alone.
fn worker(argv: Vec<String>, entry: ExecEntry, place: &dyn AppEntry) -> Result<Source, String> {
    if argv.first().is_none_or(String::is_empty) {
        return Err("`worker` is empty; its first word names the program".into());
    }
    let folder = entry.path.map_or_else(|| place.folder().to_owned(), |path| place.path(&path));
    let watched = if entry.watch { sources_of(&argv, &folder) } else { Vec::new() };
    let sandbox = sandbox(entry.sandbox, entry.namespace.as_deref().unwrap_or("worker"), place)?;
    let module = WorkerModule::new(argv, folder, settings(entry.namespace, entry.env, sandbox, place)?)
        .with_start_limit(entry.startup_timeout_seconds.map_or(DEFAULT_START_LIMIT, Seconds::duration));
    let module = Arc::new(module);
    Ok(Source::new(module.clone()).with_engine(module).with_watched(watched))
}

fn settings(
    namespace: Option<String>,
    env: BTreeMap<String, Secret>,
    sandbox: Option<ProgramSandbox>,
    place: &dyn AppEntry,
) -> Result<ModuleSettings, String> {
    Ok(ModuleSettings {
        namespace,
        workspace: Some(place.workspace()?),
        env,
        access: place.access()?,
        sandbox,
    })
}

/// Returns the files and folders that the words of a worker name in its folder, or the folder itself.
fn sources_of(argv: &[String], folder: &Path) -> Vec<PathBuf> {
    let named = argv.iter().map(|word| folder.join(word));
    let named: Vec<PathBuf> = named.filter(|path| path.starts_with(folder) && path.exists()).collect();
    if named.is_empty() { vec![folder.to_owned()] } else { named }
}
