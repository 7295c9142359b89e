//! Our own entry: what it says, and how it is told from others.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use toolcrib_app::Extensions;
use toolcrib_document::{Format, Limits, parse};
use toolcrib_io::files::read_bounded;

use crate::app_start::open;
use crate::commands::entry_secrets::is_variable;
use crate::exit::Failure;

/// The most bytes of an app file, as `App` reads it.
const MAX_APP_BYTES: u64 = 1024 * 1024;

/// Variables that every client gives to its servers, or that the program answers itself.
const GIVEN: [&str; 3] = ["HOME", "PATH", "TOOLCRIB"];

/// The name of the program in any build.
const PROGRAM: &str = "toolcrib";

/// The command that a client has to run.
#[derive(Clone, Debug)]
pub(super) struct Served {
    pub(super) command: String,
    pub(super) arguments: Vec<String>,
    /// The variables that the app names.
    pub(super) variables: Vec<String>,
}

impl Served {
    /// This program, serving this app. The app has to be one that opens.
    pub(super) fn new(app: &Path, extensions: &Extensions) -> Result<Self, Failure> {
        open(app, extensions)?;
        let absolute = app.canonicalize().or_else(|_| std::path::absolute(app));
        let absolute = absolute.map_err(|error| Failure::bad_input(format!("{}: {error}", app.display())))?;
        let program = program()?;
        let app = text_of(&absolute)?;
        Ok(Self {
            command: text_of(&program)?,
            variables: variables(&absolute),
            arguments: vec!["serve".into(), app, "--stdio".into()],
        })
    }
}

/// Returns the path of this program.
fn program() -> Result<PathBuf, Failure> {
    let failed = |why: &dyn std::fmt::Display| {
        Failure::bad_input(format!("the path of this program is not known: {why}"))
    };
    let program = std::env::current_exe().map_err(|error| failed(&error))?;
    if program.is_file() { Ok(program) } else { Err(failed(&format!("{} is no file", program.display()))) }
}

fn text_of(path: &Path) -> Result<String, Failure> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| {
        Failure::bad_input(format!("{} is not UTF-8, and no configuration can hold it", path.display()))
    })
}

/// Returns the variables that an app names, in the order of their names.
fn variables(app: &Path) -> Vec<String> {
    let Ok(bytes) = read_bounded(app, MAX_APP_BYTES) else { return Vec::new() };
    let document = parse(&bytes, Format::detect(app, &bytes), &Limits::default());
    let mut names = BTreeSet::new();
    if let Ok(document) = document {
        collect(&document.value, &mut names);
    }
    names.into_iter().filter(|name| !GIVEN.contains(&name.as_str())).collect()
}

fn collect(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => names.extend(references(text)),
        Value::Array(items) => items.iter().for_each(|item| collect(item, names)),
        Value::Object(map) => map.values().for_each(|item| collect(item, names)),
        _ => {}
    }
}

/// Returns the names in `${NAME}` and `${NAME:-default}`.
fn references(text: &str) -> impl Iterator<Item = String> {
    let parts = text.split("${").collect::<Vec<_>>();
    let names = parts.windows(2).filter_map(|pair| match pair {
        [before, after] if !before.ends_with('$') => {
            let inside = after.split('}').next().filter(|inside| inside.len() < after.len())?;
            let name = inside.split(":-").next().unwrap_or_default();
            is_variable(name).then(|| name.to_owned())
        }
        _ => None,
    });
    names.collect::<Vec<_>>().into_iter()
}

/// Returns true if an entry starts `toolcrib serve APP --stdio`, as this command writes it.
pub(crate) fn is_ours(entry: &Value) -> bool {
    let arguments: Vec<&str> = match entry.get("args").and_then(Value::as_array) {
        Some(arguments) => arguments.iter().filter_map(Value::as_str).collect(),
        None => return false,
    };
    let serves = arguments.first() == Some(&"serve") && arguments.contains(&"--stdio");
    let command = entry.get("command").and_then(Value::as_str).map(Path::new);
    let stem = command.and_then(Path::file_stem);
    let this = std::env::current_exe().ok();
    let is_this = this.as_deref().and_then(Path::file_stem).is_some_and(|this| Some(this) == stem);
    serves && (is_this || stem == Some(OsStr::new(PROGRAM)))
}

/// Returns the entry that replaces `before`. Members that a user added to our entry are kept.
pub(super) fn merged(before: Option<&Value>, new: Map<String, Value>) -> Map<String, Value> {
    let Some(Value::Object(before)) = before.filter(|before| is_ours(before)) else { return new };
    let mut merged = before.clone();
    for (key, value) in new {
        match (merged.get_mut(&key), value) {
            (Some(Value::Object(env)), Value::Object(more)) => {
                for (name, value) in more {
                    env.entry(name).or_insert(value);
                }
            }
            (Some(Value::Array(names)), Value::Array(more)) if key == "env_vars" => {
                names.extend(more.into_iter().filter(|name| !names.contains(name)).collect::<Vec<_>>());
            }
            (_, value) => {
                merged.insert(key, value);
            }
        }
    }
    merged
}
