//! `toolcrib tools`.

use toolcrib_app::Extensions;
use toolcrib_policy::RUNTIME_NAMESPACE;
use toolcrib_registry::Entry;

use crate::app_start::{exit_of_rejects, look, look_at_approvals};
use crate::arguments::Tools;
use crate::exit::{Exit, Failure};
use crate::trust_changes;
use crate::ui::output;

pub(crate) async fn run(arguments: &Tools, extensions: &Extensions, json: bool) -> Result<Exit, Failure> {
    if arguments.changed {
        return changed(arguments, extensions, json).await;
    }
    let runtime = look(&arguments.app, extensions).await?;
    let (snapshot, policy) = (runtime.snapshot(), runtime.executor().policy().clone());
    let rules = &runtime.app().config.tools.capabilities;
    // The runtime's own tools are the same in every app.
    let is_own = |entry: &Entry| entry.tool.name.namespace() == RUNTIME_NAMESPACE;
    let shown = |entry: &Entry| !is_own(entry) && (arguments.all || !entry.tool.traits().unlisted);
    if json {
        output::snapshot_json(&snapshot, &policy, rules, shown);
        output::rejects(snapshot.rejected());
    } else {
        output::snapshot_lines(&snapshot, &policy, rules, shown);
        let left_out = snapshot.iter().filter(|entry| !is_own(entry) && !shown(entry)).count();
        if left_out > 0 {
            output::tell(&format!("{left_out} more that people do not pick; --all lists them"));
        }
    }
    runtime.close().await;
    // A tool that was rejected is part of the list; a source that is down makes the list another one.
    Ok(match exit_of_rejects(snapshot.rejected()) {
        Exit::Unavailable => Exit::Unavailable,
        _ => Exit::Ok,
    })
}

/// Prints the tools that have changed since their approval.
async fn changed(arguments: &Tools, extensions: &Extensions, json: bool) -> Result<Exit, Failure> {
    let runtime = look_at_approvals(&arguments.app, extensions).await?;
    let exit = exit_of_rejects(runtime.snapshot().rejected());
    let pins = runtime.app().pins().map_err(|error| Failure::bad_input(error.to_string()))?;
    let changed = pins.map(|pins| pins.changes()).unwrap_or_default();
    if json {
        output::json(&trust_changes::json(&changed, runtime.app().secrets()));
    } else {
        trust_changes::show_all(&changed, runtime.app());
    }
    runtime.close().await;
    Ok(if exit == Exit::Unavailable { Exit::Unavailable } else { Exit::Ok })
}
