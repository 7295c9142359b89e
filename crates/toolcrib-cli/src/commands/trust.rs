//! `toolcrib trust`.

use toolcrib_runtime::Pins;

use super::look_closely;
use crate::arguments::Trust;
use crate::changes;
use crate::exit::{Exit, Failure};
use crate::output;

pub(crate) async fn run(arguments: &Trust, json: bool) -> Result<Exit, Failure> {
    let runtime = look_closely(&arguments.app).await?;
    let failed = |error: toolcrib_runtime::PinsError| Failure::bad_input(error.to_string());
    let Some(pins) = runtime.app().pins().map_err(failed)? else {
        return Err(Failure::bad_input("an app that is no file approves nothing"));
    };
    let mut accepted = Vec::new();
    for (namespace, tool) in chosen(arguments, &pins) {
        accepted.extend(pins.accept(&namespace, tool.as_deref()).map_err(failed)?);
    }
    // A server whose command line was just approved has not been asked for its tools yet.
    for change in accepted.iter().filter(|change| change.tool.is_none()) {
        let source = format!("mcp {}", change.namespace);
        let refreshed = runtime.executor().registry().refresh_source(&source).await;
        refreshed.map_err(|error| Failure::bad_input(error.to_string()))?;
    }
    let left = pins.changes();
    if json {
        let (approved, changed) = (
            changes::json(&accepted, runtime.app().secrets()),
            changes::json(&left, runtime.app().secrets()),
        );
        output::json(&serde_json::json!({"approved": approved, "changed": changed}));
    } else {
        for change in &accepted {
            output::say(&format!("approved: {}", changes::title(change)));
        }
        if accepted.is_empty() {
            output::tell("nothing of that name has changed");
        }
        if !left.is_empty() {
            changes::show(&left, runtime.app());
        }
    }
    runtime.close().await;
    Ok(Exit::Ok)
}

/// The servers and tools that are meant.
fn chosen(arguments: &Trust, pins: &Pins) -> Vec<(String, Option<String>)> {
    let changes = pins.changes();
    if arguments.all {
        return changes.into_iter().map(|change| (change.namespace, change.tool)).collect();
    }
    let names = arguments.names.iter().map(|name| {
        let is_server = changes.iter().any(|change| change.namespace == *name);
        match name.split_once('.') {
            Some((namespace, tool)) if !is_server => (namespace.to_owned(), Some(tool.to_owned())),
            _ => (name.clone(), None),
        }
    });
    names.collect()
}
