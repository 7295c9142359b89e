//! The settings of an app file that several parts use, with their variables filled in.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};
use toolcrib_document::Error as DocumentError;
use toolcrib_model::Secret;
use toolcrib_model::text::pointer_part;
use toolcrib_policy::Access;
use toolcrib_tasks::StoreLocation;
use url::Url;

use crate::file::environment::environment;
use crate::file::{expansion, templates};
use crate::sections::agents::BrainConfig;
use crate::sections::capabilities;
use crate::sections::output_schema::ResolvedOutputSchema;
use crate::{AppConfig, AppFile};

/// The settings of an app file that several parts use, with their variables filled in: once, right after the file is
/// read, for everything that is checked, protected and built. A variable that is not set is an error of the
/// section, which reports it. Credentials of models and clients are filled in where they are used.
#[derive(Clone, Debug)]
pub(crate) struct ResolvedSettings {
    /// `tools.capabilities.access`.
    pub(crate) access: Result<Access, DocumentError>,
    /// The entries of `tools.registry`, in their order.
    pub(crate) registry: Vec<ResolvedEntry>,
    /// The entries of `tools.enrichments`, in their order.
    pub(crate) enrichments: Vec<ResolvedEntry>,
    /// The entries of `tools.engines`.
    pub(crate) engines: BTreeMap<String, ResolvedEntry>,
    /// The entries of `tools.channels`.
    pub(crate) channels: BTreeMap<String, ResolvedEntry>,
    /// The entries of `approvals.channels`.
    pub(crate) approval_channels: BTreeMap<String, ResolvedEntry>,
    /// The entries of `hooks`, in their order.
    pub(crate) hooks: Vec<ResolvedEntry>,
    /// The `config` of each module.
    pub(crate) module_configs: BTreeMap<String, Result<Value, DocumentError>>,
    /// The files of `tools.apps`.
    pub(crate) called_apps: BTreeMap<String, Result<PathBuf, DocumentError>>,
    /// The entries of `skills.folders`, in their order.
    pub(crate) skill_folders: Vec<Result<String, DocumentError>>,
    /// `audit.path`.
    pub(crate) audit_path: Option<Result<String, DocumentError>>,
    /// `audit.key`.
    pub(crate) audit_key: Option<Result<String, DocumentError>>,
    /// `TOOLCRIB_STORE` or `store`.
    pub(crate) task_store: Option<Result<StoreLocation, DocumentError>>,
    /// The recordings of models, by the JSON pointers of their `brain`.
    pub(crate) recordings: BTreeMap<String, Result<String, DocumentError>>,
    /// `runtime.output_schema`.
    pub(crate) output_schema: Option<ResolvedOutputSchema>,
}

/// An entry of a section whose settings depend on its `type`.
#[derive(Clone, Debug)]
pub(crate) struct ResolvedEntry {
    /// The JSON pointer of the entry.
    pub(crate) pointer: String,
    /// Its `type`.
    pub(crate) kind: Option<String>,
    /// Its settings without the type. A text with a variable that is not set is as it was written.
    pub(crate) settings: Value,
    /// The error of the first variable that is not set.
    pub(crate) unset: Option<DocumentError>,
}

impl ResolvedEntry {
    fn new(file: &AppFile, entry: &Value, pointer: String) -> Self {
        let (mut settings, unset) = expansion::filled(file, entry, &pointer);
        let kind = settings.as_object_mut().and_then(|map| map.shift_remove("type"));
        let kind = kind.as_ref().and_then(Value::as_str).map(str::to_owned);
        Self { pointer, kind, settings, unset }
    }

    /// Returns a text of the entry.
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.settings.get(key).and_then(Value::as_str)
    }
}

impl ResolvedSettings {
    /// Fills in the variables of an app file.
    pub(crate) fn new(config: &AppConfig, file: &AppFile) -> Self {
        let AppConfig { agents, modules, tools, skills, runtime, audit, .. } = config;
        let text = |text: &str, pointer: &str| expansion::expanded(file, text, pointer, false);
        let path = |text: &str, pointer: &str| expansion::expanded(file, text, pointer, true);
        let named = |section: &str, entries: &BTreeMap<String, Value>| {
            let entries = entries.iter().map(|(name, entry)| {
                let pointer = format!("{section}/{}", pointer_part(name));
                (name.clone(), ResolvedEntry::new(file, entry, pointer))
            });
            entries.collect()
        };
        let registry = tools.registry.iter().enumerate();
        let enrichments = tools.enrichments.iter().enumerate();
        let hooks = file.document.value.get("hooks").and_then(Value::as_array).into_iter().flatten();
        let folders = skills.folders.iter().flatten().enumerate();
        let mut recordings = BTreeMap::new();
        for (position, agent) in agents.iter().enumerate() {
            add_recordings(file, &agent.brain, format!("/agents/{position}/brain"), &mut recordings);
        }
        Self {
            access: capabilities::access(&tools.capabilities, file),
            registry: registry
                .map(|(at, entry)| ResolvedEntry::new(file, entry, format!("/tools/registry/{at}")))
                .collect(),
            enrichments: enrichments
                .map(|(at, entry)| ResolvedEntry::new(file, entry, format!("/tools/enrichments/{at}")))
                .collect(),
            engines: named("/tools/engines", &tools.engines),
            channels: named("/tools/channels", &tools.channels),
            approval_channels: named("/approvals/channels", &config.approvals.channels),
            hooks: hooks
                .enumerate()
                .map(|(at, entry)| ResolvedEntry::new(file, entry, format!("/hooks/{at}")))
                .collect(),
            module_configs: modules
                .iter()
                .map(|(id, entry)| (id.clone(), module_config(file, id, &entry.config)))
                .collect(),
            called_apps: tools
                .apps
                .iter()
                .map(|(name, app)| {
                    let pointer = format!("/tools/apps/{}/path", pointer_part(name));
                    (name.clone(), path(&app.path, &pointer).map(|path| file.path(&path)))
                })
                .collect(),
            skill_folders: folders
                .map(|(at, folder)| path(folder, &format!("/skills/folders/{at}")))
                .collect(),
            audit_path: audit.as_ref().map(|audit| path(&audit.path, "/audit/path")),
            audit_key: audit.as_ref().and_then(|audit| Some(text(audit.key.as_deref()?, "/audit/key"))),
            task_store: named_store(config, file),
            recordings,
            output_schema: runtime
                .output_schema
                .as_ref()
                .map(|schema| ResolvedOutputSchema::new(schema, file)),
        }
    }
}

/// The beginnings of URLs of PostgreSQL.
const POSTGRES_SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

/// The variable that names the store in place of the app.
const STORE_VARIABLE: &str = "TOOLCRIB_STORE";

/// Returns the location of the store that the variable or the app names.
fn named_store(config: &AppConfig, file: &AppFile) -> Option<Result<StoreLocation, DocumentError>> {
    if let Some(store) = environment(STORE_VARIABLE).filter(|store| !store.is_empty()) {
        return Some(Ok(literal_location(&store, file)));
    }
    config.store.as_deref().map(|store| store_location(store, file))
}

/// Returns the location of a store: a URL of PostgreSQL, whose variables are secrets, or a file relative to the app file.
fn store_location(store: &str, file: &AppFile) -> Result<StoreLocation, DocumentError> {
    const POINTER: &str = "/store";
    // A variable may hold a whole URL.
    match literal_location(&expansion::expanded(file, store, POINTER, false)?, file) {
        StoreLocation::File(_) => {
            expansion::expanded(file, store, POINTER, true).map(|path| StoreLocation::File(file.path(&path)))
        }
        server @ StoreLocation::Postgres(_) => Ok(server),
    }
}

/// Returns the location of a store without variables.
fn literal_location(store: &str, file: &AppFile) -> StoreLocation {
    if !POSTGRES_SCHEMES.iter().any(|scheme| store.starts_with(scheme)) {
        return StoreLocation::File(file.path(store));
    }
    if let Some(password) = Url::parse(store).ok().as_ref().and_then(Url::password) {
        file.secrets.add("store", Secret::new(password));
    }
    StoreLocation::Postgres(Secret::new(store))
}

fn module_config(file: &AppFile, id: &str, config: &Value) -> Result<Value, DocumentError> {
    let pointer = format!("/modules/{}/config", pointer_part(id));
    match config {
        Value::Null => Ok(json!({})),
        Value::Object(_) => templates::filled(file, config, &pointer),
        other => Err(file.error_at(&pointer, format!("`config` has to be a mapping, not {other}"))),
    }
}

/// Adds the recording of a model, and those of its fallbacks.
fn add_recordings(
    file: &AppFile,
    brain: &BrainConfig,
    place: String,
    recordings: &mut BTreeMap<String, Result<String, DocumentError>>,
) {
    for (position, fallback) in brain.fallback.iter().enumerate() {
        add_recordings(file, fallback, format!("{place}/fallback/{position}"), recordings);
    }
    if let Some(recording) = &brain.recording {
        let path = expansion::expanded(file, recording, &format!("{place}/recording"), true);
        recordings.insert(place, path);
    }
}

#[cfg(test)]
mod tests {
    use crate::App;

    #[test]
    fn a_variable_that_is_not_set_leaves_the_other_settings_of_its_entry() {
        let text = "tools: {registry: [{type: exec, path: '${NO_SUCH_FOLDER:-programs}', env: {KEY: '${NO_SUCH_KEY}'}}]}";
        let app = App::from_text("app.yaml", text).unwrap();
        let [entry] = app.resolved.registry.as_slice() else { panic!("one entry") };
        assert_eq!((entry.kind.as_deref(), entry.text("path")), (Some("exec"), Some("programs")));
        assert_eq!(entry.settings["env"]["KEY"], "${NO_SUCH_KEY}");
        assert!(entry.unset.as_ref().unwrap().to_string().contains("`NO_SUCH_KEY` is not set"));
        assert!(!entry.settings.as_object().unwrap().contains_key("type"));
    }
}
