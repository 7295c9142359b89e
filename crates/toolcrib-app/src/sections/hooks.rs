//! `hooks` and `guard`: checks of calls and results.

use std::collections::BTreeSet;
use std::sync::Arc;

use toolcrib_document::Error as DocumentError;
use toolcrib_exec::Hook;
use toolcrib_hooks::{ConfiguredHook, Guard, GuardSettings, HookHost, HookSettings, SettingError};

use crate::findings::Findings;
use crate::resolved::ResolvedEntry;
use crate::{App, AppFile};

/// The most hooks of an app: all that apply to a call share its time.
const MAX_HOOKS: usize = 32;

/// The name of the guard among the hooks.
const GUARD: &str = "guard";

/// Builds the hooks of an app in their order, and the guard after them. Nothing is started.
pub(crate) fn build(app: &App, found: &mut Findings) -> Vec<Arc<dyn Hook>> {
    let (file, entries) = (&app.file, &app.resolved.hooks);
    if entries.len() > MAX_HOOKS {
        let message = format!("there are {} hooks, and at most {MAX_HOOKS} are taken", entries.len());
        found.errors.push(file.error_at("/hooks", message));
    }
    let host = host(file);
    let mut names = BTreeSet::from([GUARD.to_owned()]);
    let mut hooks: Vec<Arc<dyn Hook>> = Vec::new();
    for entry in entries {
        let built = configured(file, &host, entry, &mut names);
        hooks.extend(found.built(built).map(|hook| Arc::new(hook) as Arc<dyn Hook>));
    }
    if let Some(guard) = app.config.guard.as_ref().and_then(|settings| guard(file, settings, found)) {
        hooks.push(Arc::new(guard));
    }
    hooks
}

/// Returns what the hooks of an app share. The file identifies the app, also if it is named in another way.
fn host(file: &AppFile) -> HookHost {
    let path = std::path::Path::new(&file.name).canonicalize();
    let app = path.map_or_else(|_| file.name.clone(), |path| path.display().to_string());
    HookHost { app, folder: file.folder.clone() }
}

fn configured(
    file: &AppFile,
    host: &HookHost,
    entry: &ResolvedEntry,
    names: &mut BTreeSet<String>,
) -> Result<ConfiguredHook, DocumentError> {
    if let Some(unset) = &entry.unset {
        return Err(unset.clone());
    }
    let settings: HookSettings = file
        .document
        .deserialize_value(&entry.settings, &entry.pointer)
        .map_err(|error| file.readable(error, &entry.pointer))?;
    if !names.insert(settings.name.clone()) {
        let message = format!("there is another hook `{}`; give each its own name", settings.name);
        return Err(file.error_at(&format!("{}/name", entry.pointer), message));
    }
    ConfiguredHook::new(&settings, host).map_err(|error| placed(file, &entry.pointer, &error))
}

fn guard(file: &AppFile, settings: &GuardSettings, found: &mut Findings) -> Option<Guard> {
    found.built(Guard::new(settings).map_err(|error| placed(file, "/guard", &error)))
}

fn placed(file: &AppFile, section: &str, error: &SettingError) -> DocumentError {
    let pointer = format!("{section}{}", error.pointer);
    file.readable(file.error_at(&pointer, error.message.clone()), &pointer)
}
