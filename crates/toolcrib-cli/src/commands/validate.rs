//! `toolcrib validate`.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use toolcrib_app::{Error, Extensions, LaunchOptions};
use toolcrib_exec::DenyAll;
use toolcrib_runtime::Runtime;

use crate::app_start::{STARTUP_PATIENCE, exit_of_rejects};
use crate::arguments::Validate;
use crate::exit::{Exit, Failure};
use crate::ui::output;

pub(crate) async fn run(arguments: &Validate, extensions: &Extensions, json: bool) -> Result<Exit, Failure> {
    let mut options = LaunchOptions::default();
    if arguments.connect {
        options.startup_timeout = STARTUP_PATIENCE;
        // A server is asked, not what was kept of its last answer.
        options.lazy = false;
    }
    let blueprint = match crate::app_start::open_with(&arguments.app, extensions, options) {
        Ok(blueprint) => blueprint,
        Err(error @ Error::App { .. }) => return Ok(wrong(&error, json)),
        Err(error) => return Err(error.into()),
    };
    let (file, mut warnings) = (blueprint.app.file.name.clone(), blueprint.warnings().to_vec());
    warnings.extend(blueprint.workspace_warning());
    let secrets = blueprint.app.file.secret_origins();
    warnings.extend(secrets.iter().filter_map(|secret| {
        let reason = secret.provider.as_ref().err()?;
        Some(format!("`{}` needs a secret: {reason}", secret.setting))
    }));
    warnings.extend(blueprint.app.file.unset_variables());
    warnings.extend(blueprint.app.file.unserved_variables());
    let config = &blueprint.app.config;
    let (agents, sources) = (config.agents.len(), config.tools.registry.len());
    let (snapshot, of_sources) = if arguments.connect {
        let runtime = Runtime::start(blueprint, Arc::new(DenyAll)).await?;
        let loaded = (runtime.snapshot(), runtime.source_warnings());
        warnings.extend(runtime.warnings());
        runtime.close().await;
        loaded
    } else {
        blueprint.load_local_sources().await
    };
    warnings.extend(snapshot.warnings());
    warnings.extend(of_sources);
    let rejected = snapshot.rejected();
    let exit = exit_of_rejects(rejected);
    let exit = if exit == Exit::Ok && !rejected.is_empty() { Exit::BadInput } else { exit };
    if json {
        let secrets: Map<String, Value> = secrets
            .into_iter()
            .map(|secret| (secret.name, secret.provider.map_or(Value::Null, Value::String)))
            .collect();
        output::json(
            &json!({"ok": exit == Exit::Ok, "errors": [], "warnings": warnings, "rejected": rejected, "secrets": secrets}),
        );
        return Ok(exit);
    }
    for secret in &secrets {
        if let Ok(provider) = &secret.provider {
            output::say(&format!("secret {}: {provider}", secret.name));
        }
    }
    for warning in &warnings {
        output::tell(&format!("warning: {file}: {warning}"));
    }
    output::rejects(rejected);
    if exit == Exit::Ok {
        output::say(&format!("{file}: ok ({agents} agents, {sources} sources)"));
    }
    Ok(exit)
}

fn wrong(error: &Error, json: bool) -> Exit {
    if json && let Error::App { file, errors } = error {
        let rows: Vec<Value> = errors
            .iter()
            .map(|error| {
                let position = error.position();
                json!({
                    "file": file,
                    "line": position.map(|position| position.line),
                    "column": position.map(|position| position.column),
                    "message": error.to_string(),
                })
            })
            .collect();
        output::json(&json!({"ok": false, "errors": rows, "warnings": [], "rejected": [], "secrets": {}}));
    } else {
        output::tell(&error.to_string());
    }
    Exit::BadInput
}
