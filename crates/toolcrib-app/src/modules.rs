//! From an entry of `modules` to a module.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use toolcrib_document::Error as DocumentError;
use toolcrib_loader_mcp::McpModuleConfig;
use toolcrib_model::{Secret, Tool, pointer_part};
use toolcrib_modules::{Error, ModuleContext, ModuleTable, NoConfig, built_in};
use toolcrib_policy::Access;
use toolcrib_results::is_secret;
use toolcrib_sdk::Module;

use crate::extensions::{EntryContext, Extensions};
use crate::{App, ModuleConfig, config::templates};

/// The schema of a module's configuration, and its actions.
#[derive(Clone, Debug)]
pub struct ModuleSchema {
    /// Its id, the namespace of its tools.
    pub id: String,
    /// A name for people.
    pub title: String,
    /// The description of the module.
    pub description: String,
    /// The JSON Schema of `modules.<id>.config`.
    pub config: Value,
    /// Its tools.
    pub actions: Vec<Tool>,
}

/// Adds the built-in modules, by the door that is there for those of other crates.
pub(crate) fn register(extensions: &mut Extensions) {
    built_in(extensions);
    extensions.add_module(
        toolcrib_loader_mcp::MODULE_ID.to_owned(),
        |config: McpModuleConfig, place: &EntryContext<'_>| {
            let session_tools = place.app.session_tools.clone();
            toolcrib_loader_mcp::module(&config, place.access()?, place.workspace()?, session_tools)
        },
    );
    extensions.add_module(toolcrib_tasks::SCHEDULER.to_owned(), |NoConfig {}, place: &EntryContext<'_>| {
        Ok(place.app.scheduler.module())
    });
}

impl ModuleTable for Extensions {
    fn add<C>(&mut self, id: &'static str, make: fn(C, &ModuleContext) -> Result<Module, Error>)
    where
        C: DeserializeOwned + JsonSchema + 'static,
    {
        self.add_module(id.to_owned(), move |config: C, place: &EntryContext<'_>| {
            make(config, &place.module_context()?).map_err(|error| error.to_string())
        });
    }
}

impl App {
    /// Returns the ids of all modules that an app may name, sorted.
    pub fn module_ids(&self) -> impl Iterator<Item = &str> {
        self.extensions.modules()
    }

    /// Returns the schema of a module and its actions, with the configuration of this app. A module that the app does
    /// not name has no configuration.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no such module, or if it cannot be created without a configuration.
    pub fn module_schema(&self, id: &str) -> Result<ModuleSchema, crate::Error> {
        let failed = |message: String| crate::Error::Start { what: format!("the module `{id}`"), message };
        let Some(config) = self.extensions.module_config(id) else {
            let known: Vec<&str> = self.extensions.modules().collect();
            return Err(crate::Error::UnknownModule {
                message: crate::config::validation::unknown("module", id, &known),
            });
        };
        let entry = self.config.modules.get(id);
        let module =
            module(self, id, entry.unwrap_or(&ModuleConfig::default())).map_err(|error| match entry {
                Some(_) => self.wrong(error),
                None => failed(format!("{error}; name an app that gives it a `config`")),
            })?;
        Ok(ModuleSchema {
            id: id.to_owned(),
            title: module.title().to_owned(),
            description: module.description().to_owned(),
            config,
            actions: module.definitions().collect(),
        })
    }
}

/// Makes a module. Nothing of it runs.
pub(crate) fn module(app: &App, id: &str, entry: &ModuleConfig) -> Result<Module, DocumentError> {
    let pointer = format!("/modules/{}/config", pointer_part(id));
    let settings = match &entry.config {
        Value::Null => json!({}),
        Value::Object(_) => templates::filled(app, &entry.config, &pointer)?,
        other => {
            let message = format!("`config` has to be a mapping, not {other}");
            return Err(app.document.error_at(&pointer, message));
        }
    };
    note_secrets(app, &settings);
    let access = entry.access.as_ref().map(|rules| Access::of_module(id, rules)).transpose();
    let access = access.map_err(|error| app.document.error_at(error.place().pointer(), error.to_string()))?;
    let place = EntryContext { app, pointer: &pointer, settings: &settings, access: access.as_ref() };
    app.extensions.module(id, &place)
}

/// Notes the credentials that a configuration holds as they are, so that nothing repeats them: the values of keys such
/// as
/// `Authorization` and `password`.
fn note_secrets(app: &App, settings: &Value) {
    match settings {
        Value::Array(items) => items.iter().for_each(|item| note_secrets(app, item)),
        Value::Object(map) => {
            for (key, value) in map {
                match value {
                    // `auth: basic` and its like say how, not with what.
                    Value::String(text) if key != "auth" && is_secret(&format!("/{key}"), "", "") => {
                        let credentials = text.split_once(' ').map(|(_scheme, credentials)| credentials);
                        for secret in [Some(text.as_str()), credentials].into_iter().flatten() {
                            app.secrets().add(key, Secret::new(secret.trim()));
                        }
                    }
                    other => note_secrets(app, other),
                }
            }
        }
        _ => {}
    }
}

/// Returns true for a pattern of namespaces that the tools of servers may have to which sessions of the app connect.
pub(crate) fn may_be_of_session(app: &App, namespaces: &str) -> bool {
    let connects = app.config.modules.contains_key(toolcrib_loader_mcp::MODULE_ID);
    connects && namespaces.starts_with(toolcrib_loader_mcp::NAMESPACE_PREFIX)
}

/// Makes all modules of an app.
pub(crate) fn modules(app: &App) -> Result<Vec<Module>, DocumentError> {
    app.config.modules.iter().map(|(id, entry)| module(app, id, entry)).collect()
}
