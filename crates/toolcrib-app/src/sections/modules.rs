//! From an entry of `modules` to a module.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use toolcrib_document::Error as DocumentError;
use toolcrib_model::Secret;
use toolcrib_model::text::pointer_part;
use toolcrib_policy::Access;
use toolcrib_results::{Secrets, is_secret};
use toolcrib_sdk::Module;

use crate::AppFile;
use crate::extensions::Extensions;
use crate::extensions::entry::{AppContext, EntryContext};
use crate::file::former_names;
use crate::findings::Findings;
use crate::sections::capabilities;
use crate::sections::module_entry::ModuleConfig;
use crate::sections::values::{is_literal, unknown};

/// The actions of a module that agents may not call.
const BLOCKED: &str = "blocked_actions";

/// Makes a module. Nothing of it runs.
pub(crate) fn module(
    extensions: &Extensions,
    app: &AppContext<'_>,
    (id, entry): (&str, &ModuleConfig),
    settings: &Value,
) -> Result<Module, DocumentError> {
    let pointer = format!("/modules/{}/config", pointer_part(id));
    note_secrets(&app.file.secrets, settings);
    let location = capabilities::locations().modules.key(id).key("access");
    let access = entry.access.as_ref().map(|rules| Access::at(&location, rules)).transpose();
    let access = access.map_err(|error| app.file.error_at(error.place().pointer(), error.to_string()))?;
    let place = EntryContext { app, pointer: &pointer, settings, access: access.as_ref() };
    extensions.module(id, &place)
}

/// Notes the credentials that a configuration holds as they are, so that nothing repeats them: the values of keys such
/// as `Authorization` and `password`.
fn note_secrets(secrets: &Secrets, settings: &Value) {
    match settings {
        Value::Array(items) => items.iter().for_each(|item| note_secrets(secrets, item)),
        Value::Object(map) => {
            for (key, value) in map {
                match value {
                    // `auth: basic` and its like say how, not with what.
                    Value::String(text) if key != "auth" && is_secret(&format!("/{key}"), "", "") => {
                        let credentials = text.split_once(' ').map(|(_scheme, credentials)| credentials);
                        for secret in [Some(text.as_str()), credentials].into_iter().flatten() {
                            secrets.add(key, Secret::new(secret.trim()));
                        }
                    }
                    other => note_secrets(secrets, other),
                }
            }
        }
        _ => {}
    }
}

/// Builds and checks the modules of an app; those that can be built.
pub(crate) fn build(
    entries: &BTreeMap<String, ModuleConfig>,
    configs: &BTreeMap<String, Result<Value, DocumentError>>,
    extensions: &Extensions,
    app: &AppContext<'_>,
    found: &mut Findings,
) -> Vec<Module> {
    let Findings { errors, warnings } = found;
    if let Err(error) = app.file.workspace() {
        errors.push(error);
        return Vec::new();
    }
    if app.access.is_err() {
        // It is said once, with the rules, and not for each module.
        return Vec::new();
    }
    let known: Vec<&str> = extensions.modules().collect();
    let mut modules = Vec::new();
    for ((id, entry), settings) in entries.iter().zip(configs.values()) {
        if !known.contains(&id.as_str()) {
            let place = format!("/modules/{}", pointer_part(id));
            let message = match former_names::instead_of_module(id) {
                Some(advice) => format!("there is no module `{id}`: {advice}"),
                None => unknown("module", id, &known),
            };
            errors.push(app.file.error_at(&place, message));
            continue;
        }
        let made = |settings: &Value| module(extensions, app, (id, entry), settings);
        let module = settings.as_ref().map_err(Clone::clone).and_then(made).or_else(|error| {
            errors.push(error);
            // What it does can often be told without its configuration.
            made(&json!({}))
        });
        if let Ok(module) = module {
            constraints(app.file, entry, &module, errors, warnings);
            modules.push(module);
        }
    }
    modules
}

/// Reports the actions that constraints name and the module does not have. Blocking one that does not exist takes nothing away, so
/// it is a warning, which names the nearest action in case of a misspelling.
fn constraints(
    file: &AppFile,
    module: &ModuleConfig,
    built: &Module,
    errors: &mut Vec<DocumentError>,
    warnings: &mut Vec<String>,
) {
    let id = built.id();
    let place = format!("/modules/{}", pointer_part(id));
    let actions: Vec<&str> = built.actions().collect();
    let constraints = &module.constraints;
    let lists = [
        ("allowed_actions", constraints.allowed_actions.as_deref().unwrap_or_default()),
        (BLOCKED, &constraints.blocked_actions),
    ];
    for (key, named) in lists {
        for (position, action) in named.iter().enumerate() {
            if is_literal(action) && !actions.contains(&action.as_str()) {
                let problem = match former_names::present_action(id, action) {
                    Some(present) => format!("`{action}` is called `{present}` now"),
                    None => unknown("action", action, &actions),
                };
                let message = format!("in the module `{id}`: {problem}");
                let place = format!("{place}/constraints/{key}/{position}");
                if key == BLOCKED {
                    warnings.push(file.error_at(&place, message).to_string());
                } else {
                    errors.push(file.error_at(&place, message));
                }
            }
        }
    }
}
