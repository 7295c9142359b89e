//! `toolcrib enable` and `toolcrib disable`.

use serde_json::json;
use toolcrib_app::Extensions;
use toolcrib_document::nearest;
use toolcrib_policy::{OverrideTarget, Overrides, RUNTIME_NAMESPACE};
use toolcrib_registry::Snapshot;
use toolcrib_runtime::Runtime;

use crate::app_start::look;
use crate::arguments::OverrideArguments;
use crate::exit::{Exit, Failure};
use crate::ui::output;

pub(crate) async fn enable(
    arguments: &OverrideArguments,
    extensions: &Extensions,
    json: bool,
) -> Result<Exit, Failure> {
    change(arguments, extensions, json, enabled).await
}

pub(crate) async fn disable(
    arguments: &OverrideArguments,
    extensions: &Extensions,
    json: bool,
) -> Result<Exit, Failure> {
    change(arguments, extensions, json, |_, _, _| Some(OverrideChange::Set(false))).await
}

/// The change of the override of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OverrideChange {
    Set(bool),
    Remove,
}

/// Returns the change that enables a target; `None` if nothing disables it. A tool becomes an exception if its namespace
/// or source stays disabled.
fn enabled(target: &OverrideTarget, overrides: &Overrides, snapshot: &Snapshot) -> Option<OverrideChange> {
    let own = overrides.targets.get(target).copied();
    let mut without = overrides.clone();
    without.targets.remove(target);
    let is_of_target = |name: &str| matches!(target, OverrideTarget::Tool(tool) if tool == name);
    let mut tools = snapshot.iter().chain(snapshot.unshaped().iter());
    let is_covered =
        tools.any(|entry| is_of_target(&entry.tool.name.dotted()) && without.disabled(&entry.tool).is_some());
    match (own, is_covered) {
        (Some(true), _) | (None, false) => None,
        (_, true) => Some(OverrideChange::Set(true)),
        (Some(false), false) => Some(OverrideChange::Remove),
    }
}

async fn change(
    arguments: &OverrideArguments,
    extensions: &Extensions,
    json: bool,
    decide: impl Fn(&OverrideTarget, &Overrides, &Snapshot) -> Option<OverrideChange>,
) -> Result<Exit, Failure> {
    let runtime = look(&arguments.app, extensions).await?;
    let changed = changed(&runtime, &arguments.target, decide).await;
    runtime.close().await;
    let (target, is_enabled) = changed?;
    if json {
        output::json(&json!({"target": target, "enabled": is_enabled}));
    } else {
        let state = if is_enabled { "enabled" } else { "disabled" };
        output::say(&format!("{target} is {state}; processes that run the app follow within a second"));
    }
    Ok(Exit::Ok)
}

async fn changed(
    runtime: &Runtime,
    text: &str,
    decide: impl Fn(&OverrideTarget, &Overrides, &Snapshot) -> Option<OverrideChange>,
) -> Result<(OverrideTarget, bool), Failure> {
    require_store(runtime)?;
    let (snapshot, overrides) = (runtime.snapshot(), runtime.executor().policy().overrides());
    let target = resolve(text, &snapshot, &overrides)?;
    let Some(change) = decide(&target, &overrides, &snapshot) else {
        return Err(Failure::bad_input(format!(
            "{target} is not disabled; `toolcrib why` says what decides"
        )));
    };
    let is_enabled = match change {
        OverrideChange::Set(is_enabled) => Some(is_enabled),
        OverrideChange::Remove => None,
    };
    runtime.set_override(&target, is_enabled).await?;
    Ok((target, is_enabled.unwrap_or(true)))
}

/// Checks that the app has a store, which other processes read.
pub(super) fn require_store(runtime: &Runtime) -> Result<(), Failure> {
    let app = runtime.app();
    if app.store_location()?.is_some() {
        return Ok(());
    }
    let message = "the app has no store: name one with `store`, or set `HOME` or `XDG_STATE_HOME`";
    Err(Failure::bad_input(format!("{}: {message}", app.file.name)))
}

/// Returns the target that a text means: a source, a namespace, or a tool in any spelling. What was overridden may be
/// missing from the app.
fn resolve(text: &str, snapshot: &Snapshot, overrides: &Overrides) -> Result<OverrideTarget, Failure> {
    if let Ok(target) = text.parse() {
        return Ok(target);
    }
    let entries = || snapshot.iter().chain(snapshot.unshaped().iter());
    let source = OverrideTarget::Source(text.to_owned());
    let namespace = OverrideTarget::Namespace(text.to_owned());
    let target = if entries().any(|entry| &*entry.source == text) {
        source
    } else if entries().any(|entry| entry.tool.name.namespace() == text) {
        namespace
    } else if let Some(name) = tool_named(text, snapshot) {
        OverrideTarget::Tool(name)
    } else {
        let known = [source, namespace, OverrideTarget::Tool(text.to_owned())];
        let overridden = known.into_iter().find(|target| overrides.targets.contains_key(target));
        overridden.ok_or_else(|| unknown(text, snapshot))?
    };
    let is_of_runtime = match &target {
        OverrideTarget::Namespace(name) => name == RUNTIME_NAMESPACE,
        OverrideTarget::Tool(name) => name.split('.').next() == Some(RUNTIME_NAMESPACE),
        OverrideTarget::Source(_) => {
            entries().any(|entry| &*entry.source == text && entry.tool.name.namespace() == RUNTIME_NAMESPACE)
        }
    };
    if is_of_runtime {
        let message = "the runtime's own tools reach others only through the gate, and are not disabled; a rule in \
                       `tools.capabilities.deny` denies one";
        return Err(Failure::bad_input(message));
    }
    Ok(target)
}

fn tool_named(text: &str, snapshot: &Snapshot) -> Option<String> {
    let found = [snapshot, snapshot.unshaped()].into_iter().find_map(|all| all.find(text, |_| true).ok())?;
    Some(found.first()?.tool.name.dotted())
}

fn unknown(text: &str, snapshot: &Snapshot) -> Failure {
    let names: Vec<String> = snapshot.iter().map(|entry| entry.tool.name.dotted()).collect();
    let namespaces = snapshot.iter().map(|entry| entry.tool.name.namespace());
    let hint = match nearest(text, names.iter().map(String::as_str).chain(namespaces)) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`toolcrib tools` lists the tools and sources".to_owned(),
    };
    Failure::bad_input(format!("there is no tool, namespace or source `{text}`; {hint}"))
}
