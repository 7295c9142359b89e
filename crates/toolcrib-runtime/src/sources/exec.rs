//! Folders of programs of an app file.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use toolcrib_loader_file::ExecModule;
use toolcrib_model::Secret;

use super::Source;
use crate::extensions::Place;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExecEntry {
    /// The folder with the manifest.
    path: String,
    /// The `name` of the manifest by default.
    namespace: Option<String>,
    /// Variables of its programs: the place for keys.
    #[serde(default)]
    env: BTreeMap<String, Secret>,
    /// Whether a saved manifest is loaded again.
    #[serde(default)]
    watch: bool,
}

/// Makes the source. Which programs may be started is asked when the manifest is read, and of each call.
pub(super) fn open(entry: ExecEntry, place: &Place<'_>) -> Result<Source, String> {
    let mut module = ExecModule::new(place.path(&entry.path))
        .with_workspace(place.workspace()?)
        .with_env(entry.env)
        .with_access(place.access()?);
    if let Some(namespace) = entry.namespace {
        module = module.with_namespace(namespace);
    }
    let watched = entry.watch.then(|| module.manifest());
    let module = Arc::new(module);
    Ok(Source { watched, ..Source::new(module.clone()).local().with_engine(module) })
}

#[cfg(unix)]
#[cfg(test)]
mod tests;
