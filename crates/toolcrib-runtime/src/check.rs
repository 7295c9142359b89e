//! What a type cannot say about an app file.

use std::collections::BTreeSet;

use serde_json::Value;
use toolcrib_document::{Error, nearest};
use toolcrib_modules::ModuleContext;
use toolcrib_policy::Policy;
use toolcrib_sdk::Module;

use crate::sources::{self, ENGINES, LOADERS};
use crate::{App, ModuleConfig};

/// Everything that is wrong, in the order of the file.
pub(crate) fn check(app: &App) -> Vec<Error> {
    let mut errors = Vec::new();
    agents(app, &mut errors);
    modules(app, &mut errors);
    engines(app, &mut errors);
    registry(app, &mut errors);
    if errors.is_empty() {
        errors.extend(sources::sources(app).err().unwrap_or_default());
    }
    let constraints = app.config.modules.iter().map(|(id, module)| (id.as_str(), &module.constraints));
    if let Err(error) = Policy::new(&app.config.tools.capabilities, constraints) {
        errors.push(app.document.error_at("/tools/capabilities", error.to_string()));
    }
    errors.sort_by_key(Error::position);
    errors
}

fn agents(app: &App, errors: &mut Vec<Error>) {
    let mut ids = BTreeSet::new();
    for (position, agent) in app.config.agents.iter().enumerate() {
        if !ids.insert(&agent.id) {
            let place = format!("/agents/{position}/id");
            errors.push(app.document.error_at(&place, format!("there are two agents `{}`", agent.id)));
        }
        if !["assistant", "coordinator"].contains(&agent.role.as_str()) {
            let message = unknown("role", &agent.role, &["assistant", "coordinator"]);
            errors.push(app.document.error_at(&format!("/agents/{position}/role"), message));
        }
    }
}

fn modules(app: &App, errors: &mut Vec<Error>) {
    let context = ModuleContext {
        workspace: match app.workspace() {
            Ok(workspace) => workspace,
            Err(error) => {
                errors.push(error);
                return;
            }
        },
    };
    for (id, module) in &app.config.modules {
        let place = format!("/modules/{id}");
        match toolcrib_modules::build(id, &context) {
            Ok(built) => module_settings(app, id, module, &built, errors),
            Err(toolcrib_modules::Error::UnknownModule { .. }) => {
                let message = unknown("module", id, toolcrib_modules::names());
                errors.push(app.document.error_at(&place, message));
            }
            Err(error) => errors.push(app.document.error_at(&place, error.to_string())),
        }
    }
}

fn module_settings(app: &App, id: &str, module: &ModuleConfig, built: &Module, errors: &mut Vec<Error>) {
    let place = format!("/modules/{id}");
    if module.config.as_object().is_some_and(|config| !config.is_empty()) {
        let message = format!("the module `{id}` takes no `config`");
        errors.push(app.document.error_at(&format!("{place}/config"), message));
    }
    if !module.setup.is_empty() {
        let message = format!("the module `{id}` has nothing to set up");
        errors.push(app.document.error_at(&format!("{place}/setup"), message));
    }
    let actions: Vec<&str> = built.actions().collect();
    let constraints = &module.constraints;
    let lists = [
        ("allowed_actions", constraints.allowed_actions.as_deref().unwrap_or_default()),
        ("blocked_actions", &constraints.blocked_actions),
    ];
    for (key, named) in lists {
        for (position, action) in named.iter().enumerate() {
            if !action.contains(['*', '?', '[', '{']) && !actions.contains(&action.as_str()) {
                let message = format!("in the module `{id}`: {}", unknown("action", action, &actions));
                let place = format!("{place}/constraints/{key}/{position}");
                errors.push(app.document.error_at(&place, message));
            }
        }
    }
}

fn engines(app: &App, errors: &mut Vec<Error>) {
    for (name, engine) in &app.config.tools.engines {
        if let Err(message) = kind(engine, "engine", &ENGINES) {
            errors.push(app.document.error_at(&format!("/tools/engines/{name}"), message));
        }
    }
}

fn registry(app: &App, errors: &mut Vec<Error>) {
    let engines: Vec<&str> = app.config.tools.engines.keys().map(String::as_str).collect();
    for (position, entry) in app.config.tools.registry.iter().enumerate() {
        let place = format!("/tools/registry/{position}");
        if let Err(message) = kind(entry, "loader", &LOADERS) {
            errors.push(app.document.error_at(&place, message));
        } else if let Some(engine) = entry.get("engine").and_then(Value::as_str)
            && !engines.contains(&engine)
        {
            let message = unknown("engine", engine, &engines);
            errors.push(app.document.error_at(&format!("{place}/engine"), message));
        }
    }
}

/// Checks the `type` of an entry.
fn kind(entry: &Value, what: &str, known: &[&str]) -> Result<(), String> {
    match entry.get("type").and_then(Value::as_str) {
        Some(kind) if known.contains(&kind) => Ok(()),
        Some(kind) => Err(unknown(what, kind, known)),
        None => Err(format!("the {what} needs a `type`, one of: {}", known.join(", "))),
    }
}

fn unknown(what: &str, given: &str, known: &[&str]) -> String {
    match nearest(given, known.iter().copied()) {
        Some(nearest) => format!("unknown {what} `{given}`, did you mean `{nearest}`?"),
        None if known.is_empty() => format!("unknown {what} `{given}`; there is none"),
        None => format!("unknown {what} `{given}`; there is: {}", known.join(", ")),
    }
}
