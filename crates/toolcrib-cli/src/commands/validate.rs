//! `toolcrib validate`.

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_exec::DenyAll;
use toolcrib_runtime::{Error, Runtime};

use super::{STARTUP_PATIENCE, exit_of_rejects};
use crate::arguments::Validate;
use crate::exit::{Exit, Failure};
use crate::ui::output;

pub(crate) async fn run(arguments: &Validate, json: bool) -> Result<Exit, Failure> {
    let mut app = match super::open(&arguments.app) {
        Ok(app) => app,
        Err(error @ Error::App { .. }) => return Ok(wrong(&error, json)),
        Err(error) => return Err(error.into()),
    };
    let (file, mut warnings) = (app.file.clone(), app.warnings());
    warnings.extend(app.workspace_warning());
    let (agents, sources) = (app.config.agents.len(), app.config.tools.registry.len());
    let (snapshot, of_sources) = if arguments.connect {
        app.startup_timeout = STARTUP_PATIENCE;
        // A server is asked, not what was kept of its last answer.
        app.lazy = false;
        let runtime = Runtime::start(app, Arc::new(DenyAll)).await?;
        let loaded = (runtime.snapshot(), runtime.source_warnings());
        warnings.extend(runtime.warnings());
        runtime.close().await;
        loaded
    } else {
        app.check_local_sources().await?
    };
    warnings.extend(snapshot.warnings());
    warnings.extend(of_sources);
    let rejected = snapshot.rejected();
    let exit = exit_of_rejects(rejected);
    let exit = if exit == Exit::Ok && !rejected.is_empty() { Exit::BadInput } else { exit };
    if json {
        output::json(
            &json!({"ok": exit == Exit::Ok, "errors": [], "warnings": warnings, "rejected": rejected}),
        );
        return Ok(exit);
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
        output::json(&json!({"ok": false, "errors": rows, "warnings": [], "rejected": []}));
    } else {
        output::tell(&error.to_string());
    }
    Exit::BadInput
}
