//! `toolcrib tools`.

use std::collections::BTreeSet;

use toolcrib_app::Extensions;
use toolcrib_document::nearest;
use toolcrib_policy::RUNTIME_NAMESPACE;
use toolcrib_registry::{Entry, Snapshot};

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
    let namespace = arguments.namespace.as_deref();
    if let Some(unknown) = namespace.and_then(|it| unknown_namespace(&runtime.snapshot(), it)) {
        output::rejects(runtime.snapshot().rejected());
        runtime.close().await;
        return Err(unknown);
    }
    let (snapshot, policy) = (runtime.snapshot(), runtime.executor().policy().clone());
    let rules = &runtime.app().config.tools.capabilities;
    let selected = |entry: &Entry| is_selected(arguments, entry);
    // The runtime's own tools are the same in every app.
    let is_listed = |entry: &Entry| {
        arguments.all
            || namespace == Some(RUNTIME_NAMESPACE)
            || entry.tool.name.namespace() != RUNTIME_NAMESPACE && !entry.tool.traits().unlisted
    };
    let shown = |entry: &Entry| selected(entry) && is_listed(entry);
    if json {
        output::snapshot_json(&snapshot, &policy, rules, shown);
        output::rejects(snapshot.rejected());
    } else {
        output::snapshot_lines(&snapshot, &policy, rules, shown);
        let left_out = snapshot.iter().filter(|entry| selected(entry) && !is_listed(entry)).count();
        if left_out > 0 {
            output::tell(&format!(
                "{left_out} more are the runtime's own, or not for people to pick; --all lists them"
            ));
        }
    }
    runtime.close().await;
    // A tool that was rejected is part of the list; a source that is down makes the list another one.
    Ok(match exit_of_rejects(snapshot.rejected()) {
        Exit::Unavailable => Exit::Unavailable,
        _ => Exit::Ok,
    })
}

/// Returns true if the options select a tool.
fn is_selected(arguments: &Tools, entry: &Entry) -> bool {
    let tool = &entry.tool;
    let text = || {
        let title = tool.title().unwrap_or_default();
        format!("{} {title} {}", tool.name.dotted(), tool.description).to_lowercase()
    };
    arguments.namespace.as_deref().is_none_or(|namespace| namespace == tool.name.namespace())
        && arguments.filter.as_deref().is_none_or(|words| {
            let text = text();
            words.to_lowercase().split_whitespace().all(|word| text.contains(word))
        })
}

/// Returns a failure if no tool is in a namespace.
fn unknown_namespace(snapshot: &Snapshot, namespace: &str) -> Option<Failure> {
    let known: BTreeSet<&str> = snapshot.iter().map(|entry| entry.tool.name.namespace()).collect();
    if known.contains(namespace) {
        return None;
    }
    let hint = match nearest(namespace, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("there are {}", known.into_iter().collect::<Vec<_>>().join(", ")),
    };
    Some(Failure::bad_input(format!("no tool is in the namespace `{namespace}`; {hint}")))
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
