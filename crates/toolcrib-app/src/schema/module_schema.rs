//! The schema of a module's configuration.

use serde_json::{Value, json};
use toolcrib_model::Tool;

use crate::sections::module_entry::ModuleConfig;
use crate::sections::modules::module;
use crate::sections::values::unknown;
use crate::{Blueprint, Error};

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

impl Blueprint {
    /// Returns the schema of a module and its actions, with the configuration of this app. A module that the app does
    /// not name has no configuration.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no such module, or if it cannot be created without a configuration.
    pub fn module_schema(&self, id: &str) -> Result<ModuleSchema, Error> {
        let extensions = &self.app.extensions;
        let Some(config) = extensions.module_config(id) else {
            let known: Vec<&str> = extensions.modules().collect();
            return Err(Error::UnknownModule { message: unknown("module", id, &known) });
        };
        let module = if let Some(module) = self.modules.iter().find(|module| module.id() == id) {
            module.clone()
        } else {
            let entry = (id, &ModuleConfig::default());
            module(extensions, &self.context(), entry, &json!({})).map_err(|error| {
                let message = format!("{error}; name an app that gives it a `config`");
                Error::Part { part: format!("the module `{id}`"), message }
            })?
        };
        Ok(ModuleSchema {
            id: id.to_owned(),
            title: module.title().to_owned(),
            description: module.description().to_owned(),
            config,
            actions: module.definitions().collect(),
        })
    }
}
