//! `toolcrib add`, and the writing of new entries of `tools.registry`.

use std::path::Path;

use serde_json::{Map, Value, json};
use toolcrib_app::Extensions;

use super::confirm::{agreed, not_written};
use super::entry_secrets::{in_arguments, is_plain_variable, is_variable};
use crate::approver::diff;
use crate::arguments::{Add, AddSource, TargetApp};
use crate::exit::{Exit, Failure};
use crate::file_edit::{AppEdit, CollectionStyle};
use crate::ui::output;

/// The list of sources in an app file.
const REGISTRY: [&str; 2] = ["tools", "registry"];

/// The value of a variable that is not set, while the new entry is checked.
const PLACEHOLDER: &str = "unset";

/// A source that is to be added.
#[derive(Debug)]
pub(super) struct NewSource {
    pub(super) namespace: String,
    /// The words of the command that name another namespace.
    pub(super) other_namespace: &'static str,
    /// The entry of `tools.registry`.
    pub(super) entry: Value,
    /// Lines for the person who decides: the program or URL first.
    pub(super) notes: Vec<String>,
}

/// The place of the namespace in a command of `toolcrib add`.
const AS_ARGUMENT: &str = "as the first word after the kind of source";

/// Returns a source that the command line describes as a whole.
fn unannounced(namespace: &str, entry: Value) -> NewSource {
    NewSource { namespace: namespace.to_owned(), other_namespace: AS_ARGUMENT, entry, notes: Vec::new() }
}

pub(crate) async fn run(arguments: &Add, extensions: &Extensions, json: bool) -> Result<Exit, Failure> {
    let (source, target) = match &arguments.source {
        AddSource::Mcp { namespace, url, env, target, command } => {
            let mut entry = Map::from_iter([
                ("type".to_owned(), json!("mcp")),
                ("namespace".to_owned(), json!(namespace)),
            ]);
            let note = if let Some(url) = url {
                refuse_secrets_in_url(url.as_str())?;
                entry.insert("url".to_owned(), json!(url.as_str()));
                format!("connects to {url}")
            } else {
                refuse_secrets(command)?;
                entry.insert("command".to_owned(), json!(command));
                format!("runs {}", shell_words::join(command))
            };
            if !env.is_empty() {
                let env = env.iter().map(|text| variable(text)).collect::<Result<Map<_, _>, _>>()?;
                entry.insert("env".to_owned(), Value::Object(env));
            }
            let (namespace, entry) = (namespace.clone(), Value::Object(entry));
            (NewSource { namespace, other_namespace: AS_ARGUMENT, entry, notes: vec![note] }, target)
        }
        AddSource::OpenApi { namespace, document, base_url, target } => {
            let is_url = document.starts_with("https://") || document.starts_with("http://");
            if is_url {
                refuse_secrets_in_url(document)?;
            }
            let document =
                if is_url { document.clone() } else { named_file(Path::new(document), &target.app)? };
            let mut entry = json!({"type": "rest", "namespace": namespace, "spec": document});
            if let (Some(url), Some(entry)) = (base_url, entry.as_object_mut()) {
                refuse_secrets_in_url(url.as_str())?;
                entry.insert("base_url".to_owned(), json!(url.as_str()));
            }
            (unannounced(namespace, entry), target)
        }
        AddSource::Tool { namespace, file, engine, target } => {
            let file = named_file(file, &target.app)?;
            let mut entry = json!({"type": "file", "namespace": namespace, "path": file});
            if let (Some(engine), Some(entry)) = (engine, entry.as_object_mut()) {
                entry.insert("engine".to_owned(), json!(engine));
            }
            (unannounced(namespace, entry), target)
        }
    };
    add(&source, target, || Ok(()), extensions, json).await
}

/// Shows the entry of a source, and writes it into the app file if the user agrees. `prepare` runs before that.
///
/// # Errors
///
/// The namespace is taken, the app would not be valid with the entry, the user does not agree, or `prepare` fails.
pub(super) async fn add(
    source: &NewSource,
    target: &TargetApp,
    prepare: impl FnOnce() -> Result<(), Failure>,
    extensions: &Extensions,
    json: bool,
) -> Result<Exit, Failure> {
    let mut edit = AppEdit::open(&target.app)?;
    check_namespace(&edit.value(), source, &target.app)?;
    let unset = unset_variables(&source.entry);
    let mut trial = AppEdit::open(&target.app)?;
    trial.append(&REGISTRY, &with_placeholders(&source.entry, &unset), CollectionStyle::Block)?;
    trial.check(extensions)?;
    edit.append(&REGISTRY, &source.entry, CollectionStyle::Block)?;
    if !json {
        for note in &source.notes {
            output::say(note);
        }
        output::say(&format!("{} would change:", target.app.display()));
        output::say(&diff::lines(edit.before(), edit.after()));
    }
    let report = |is_written: bool, backup: Option<&Path>| {
        json!({
            "app": target.app, "written": is_written, "backup": backup, "entry": source.entry,
            "notes": source.notes, "unset_variables": unset,
        })
    };
    if !target.yes && !agreed(json).await? {
        if json {
            output::json(&report(false, None));
        } else {
            output::tell(&not_written());
        }
        return Ok(Exit::ApprovalRequired);
    }
    prepare()?;
    let backup = edit.write()?;
    if json {
        output::json(&report(true, backup.as_deref()));
        return Ok(Exit::Ok);
    }
    output::say(&format!("wrote {}", target.app.display()));
    if let Some(backup) = backup {
        output::tell(&format!("what was there before: {}", backup.display()));
    }
    if !unset.is_empty() {
        output::tell(&format!("set these variables first: {}", unset.join(", ")));
    }
    let app = target.app.to_string_lossy();
    output::tell(&format!(
        "next: toolcrib tools {} --namespace {}",
        shell_words::quote(&app),
        shell_words::quote(&source.namespace)
    ));
    Ok(Exit::Ok)
}

/// Returns the path of a file as the app file names it, which is relative to the folder of the app file.
fn named_file(file: &Path, app: &Path) -> Result<String, Failure> {
    let failed = |error: std::io::Error| {
        let next = match error.kind() {
            std::io::ErrorKind::NotFound => "; write the file first, or name another",
            _ => "",
        };
        Failure::bad_input(format!("{}: {error}{next}", file.display()))
    };
    file.metadata().map_err(failed)?;
    let is_same_folder = app.parent().is_none_or(|parent| parent.as_os_str().is_empty());
    let named = if is_same_folder { file.to_owned() } else { std::path::absolute(file).map_err(failed)? };
    Ok(named.to_string_lossy().into_owned())
}

/// Returns the variable that `--env` describes.
fn variable(text: &str) -> Result<(String, Value), Failure> {
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, value.to_owned()),
        None => (text, format!("${{{text}}}")),
    };
    if !is_variable(name) {
        return Err(Failure::bad_input(format!(
            "--env `{name}` is no name of a variable; write letters, digits, and `_`"
        )));
    }
    if text.contains('=') && !is_plain_variable(name, &value) {
        return Err(Failure::bad_input(format!(
            "the value of --env {name} looks like a secret, which does not belong into the app file; write `--env {name}`, \
             and set the variable where the app runs"
        )));
    }
    Ok((name.to_owned(), Value::String(value)))
}

fn refuse_secrets(command: &[String]) -> Result<(), Failure> {
    let words: Vec<_> = command.iter().map(String::as_str).collect();
    let Some((at, _)) = in_arguments(&words).into_iter().next() else { return Ok(()) };
    Err(Failure::bad_input(format!(
        "word {} of the command looks like a secret, which does not belong into the app file; write `${{NAME}}` in its place, \
         and set the variable where the app runs",
        at + 1
    )))
}

fn refuse_secrets_in_url(url: &str) -> Result<(), Failure> {
    if in_arguments(&[url]).is_empty() {
        return Ok(());
    }
    let message = "a part of the URL looks like a secret, which does not belong into the app file; write `${NAME}` in its place, \
                   and set the variable where the app runs";
    Err(Failure::bad_input(message.to_owned()))
}

fn check_namespace(app: &Value, source: &NewSource, path: &Path) -> Result<(), Failure> {
    let namespace = source.namespace.as_str();
    let entries = app.pointer("/tools/registry").and_then(Value::as_array).into_iter().flatten();
    let is_taken = |entry: &Value| match (entry.get("namespace"), entry.get("name"), entry.get("type")) {
        (Some(own), _, _) => own == namespace,
        (None, Some(name), Some(kind)) => name.as_str().is_some_and(|name| {
            name == namespace || format!("{}_{name}", kind.as_str().unwrap_or_default()) == namespace
        }),
        _ => false,
    };
    if entries.into_iter().any(is_taken) {
        return Err(Failure::bad_input(format!(
            "{} has a source with the namespace `{namespace}` already; choose another {}",
            path.display(),
            source.other_namespace
        )));
    }
    Ok(())
}

/// Returns the variables of an entry that are not set here.
fn unset_variables(entry: &Value) -> Vec<String> {
    let mut names = Vec::new();
    collect_variables(entry, &mut names);
    names.retain(|name| std::env::var_os(name).is_none());
    names.sort_unstable();
    names.dedup();
    names
}

fn collect_variables(value: &Value, names: &mut Vec<String>) {
    match value {
        Value::String(text) => {
            let parts = text.split("${").skip(1).filter_map(|part| part.split_once('}'));
            names.extend(parts.map(|(name, _)| name).filter(|name| is_variable(name)).map(str::to_owned));
        }
        Value::Array(items) => items.iter().for_each(|item| collect_variables(item, names)),
        Value::Object(members) => members.values().for_each(|value| collect_variables(value, names)),
        _ => {}
    }
}

/// Returns the entry with values for variables, so that it can be checked before they are set.
fn with_placeholders(entry: &Value, unset: &[String]) -> Value {
    match entry {
        Value::String(text) => {
            let filled = unset
                .iter()
                .fold(text.clone(), |text, name| text.replace(&format!("${{{name}}}"), PLACEHOLDER));
            Value::String(filled)
        }
        Value::Array(items) => items.iter().map(|item| with_placeholders(item, unset)).collect(),
        Value::Object(members) => Value::Object(
            members.iter().map(|(key, value)| (key.clone(), with_placeholders(value, unset))).collect(),
        ),
        other => other.clone(),
    }
}
