//! The files that an app is made of, which none of its tools may change.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use toolcrib_document::{Format, Limits, parse};
use toolcrib_io::files::{cache_folder, read_bounded, state_folder};
use toolcrib_loader_file::exec::{MANIFEST, MAX_MANIFEST_BYTES};
use toolcrib_tasks::skills::Skill;
use toolcrib_tasks::{Skills, StoreLocation};

use crate::App;
use crate::resolved::ResolvedEntry;

/// The longest text of an app file that is taken for a path, in bytes.
const MAX_PATH_BYTES: usize = 1024;

/// The most paths that a warning names.
const MAX_NAMED: usize = 8;

/// The modules whose tools write files of the workspace, and keep to what is protected.
const WRITING_MODULES: [&str; 3] = ["database", "filesystem", "http"];

/// The module whose programs write wherever the user may.
pub(crate) const SHELL: &str = "shell";

/// The endings of scripts, whose interpreters import files of the same folder.
const SCRIPT_SUFFIXES: [&str; 12] =
    ["bash", "cjs", "js", "lua", "mjs", "php", "pl", "ps1", "py", "rb", "sh", "ts"];

/// The keys of an entry that hold the words of a command line.
const COMMAND_LINES: [&str; 4] = ["command", "argv", "worker", "run"];

/// The suffixes of the files that SQLite writes next to a database, and of the database itself.
const DATABASE_SUFFIXES: [&str; 4] = ["", "-journal", "-wal", "-shm"];

/// Protects all that an app is made of, also what is not there yet. What is wrong with a path is reported where it is
/// used.
pub(crate) fn protect(app: &App, skills: &Skills, skill_folders: &[PathBuf]) {
    let (files, settings) = (&app.protected, app.resolved.as_ref());
    for app_file in app.above.iter().map(PathBuf::as_path).chain(own_file(app)) {
        for suffix in ["", ".lock", ".lock.lock"] {
            files.protect_file(with_suffix(app_file, suffix));
        }
    }
    settings.registry.iter().for_each(|entry| source(app, entry));
    settings.engines.values().for_each(|engine| named_files(app, &engine.settings));
    settings.hooks.iter().for_each(|hook| named_files(app, &hook.settings));
    programs_of_skills(app, skills, skill_folders);
    if let Some(Ok(path)) = &settings.audit_path {
        rotated(app, path);
    }
    if let Some(spool) = app.audit_spool() {
        files.protect_file(with_suffix(&spool, ".lock"));
    }
    if let Some(Ok(StoreLocation::File(store))) = &settings.task_store {
        for suffix in DATABASE_SUFFIXES {
            files.protect_file(with_suffix(store, suffix));
        }
    }
    for channel in settings.channels.values() {
        if let (Some("file"), Some(path)) = (channel.kind.as_deref(), channel.text("path")) {
            rotated(app, path);
        }
    }
    if let Some(path) = settings.output_schema.as_ref().and_then(|schema| schema.path.as_ref()) {
        files.protect_file(path.clone());
    }
    for recording in settings.recordings.values().flatten() {
        files.protect_file(app.file.path(recording));
    }
    for path in app.file.providers.paths() {
        if path.is_dir() {
            if !holds_workspace(app, path) {
                files.hide_folder(path);
            }
        } else {
            files.hide_file(path);
        }
    }
    // Logins, approvals and what other sessions keep are not even to be read.
    if let Some(state) = state_folder("").filter(|folder| !holds_workspace(app, folder)) {
        files.hide_folder(state);
    }
    if let Some(cache) = cache_folder("").filter(|folder| !holds_workspace(app, folder)) {
        files.protect_folder(cache);
    }
    if let Ok(program) = std::env::current_exe() {
        files.protect_file(program);
    }
}

fn own_file(app: &App) -> Option<&Path> {
    app.file.is_on_disk.then(|| Path::new(&app.file.name))
}

fn text<'a>(entry: &'a Value, key: &str) -> Option<&'a str> {
    entry.get(key).and_then(Value::as_str)
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}

/// Protects a file that is renamed when it has grown.
fn rotated(app: &App, named: &str) {
    let path = app.file.path(named);
    app.protected.protect_file(with_suffix(&path, ".1"));
    app.protected.protect_file(path);
}

/// Protects what a source is made of.
fn source(app: &App, entry: &ResolvedEntry) {
    let start = entry.text("path").map(|path| app.file.path(path));
    match (entry.kind.as_deref(), &start) {
        (Some("inline"), _) => return,
        (Some("exec"), Some(folder)) => program_folder(app, folder),
        // Also where it is not there yet.
        (Some("file"), Some(file)) => app.protected.protect_file(file),
        _ => {}
    }
    let settings = &entry.settings;
    if let Some(Value::Array(words)) = settings.get("worker") {
        worker(app, words, start.as_deref().unwrap_or(&app.file.folder));
    }
    named_files(app, settings);
    if let Some(token) = settings.pointer("/auth/identity_token_file").and_then(Value::as_str) {
        app.protected.hide_file(app.file.path(token));
    }
}

/// Protects the folders that the words of a worker name: it imports the tools that are in them, and the packages above.
fn worker(app: &App, words: &[Value], start: &Path) {
    let Ok(start) = start.canonicalize() else { return };
    for word in words.iter().filter_map(Value::as_str).filter(|word| may_be_path(word)) {
        let Ok(mut folder) = start.join(word).canonicalize() else { continue };
        if !folder.is_dir() {
            continue;
        }
        let packages = folder.ancestors().take_while(|above| above.starts_with(&start) && **above != start);
        for package in packages {
            if holds_workspace(app, package) {
                app.protected.protect_file(package.join("__init__.py"));
            } else {
                app.protected.protect_folder(package);
            }
        }
        if holds_workspace(app, &folder) {
            folder.push("tools");
        }
        if folder.is_dir() && !holds_workspace(app, &folder) {
            app.protected.protect_folder(folder);
        }
    }
}

/// Protects the files that an entry names anywhere, as programs, their scripts, and specifications; of a script also its
/// folder.
fn named_files(app: &App, entry: &Value) {
    for path in files_of(app, entry) {
        app.protected.protect_file(path);
    }
    for script in scripts_of(app, entry) {
        script_folder(app, &script);
    }
}

/// Returns the files that an entry names anywhere.
fn files_of(app: &App, entry: &Value) -> Vec<PathBuf> {
    let mut texts = Vec::new();
    collect_texts(entry, &mut texts);
    let named = texts.iter().flat_map(|text| [Some(*text), text.split_once('=').map(|(_, value)| value)]);
    let named: Vec<&str> = named.flatten().filter(|named| may_be_path(named)).collect();
    let cwd = text(entry, "cwd").map(|folder| app.file.path(folder));
    let folders = [app.file.folder.clone()].into_iter().chain(cwd);
    let files = folders.flat_map(|folder| named.iter().map(move |named| folder.join(named)));
    files.filter(|path| path.is_file()).collect()
}

/// Returns the files among those that an entry names which are run: scripts, and the first words of command lines.
fn scripts_of(app: &App, entry: &Value) -> Vec<PathBuf> {
    let programs = COMMAND_LINES.iter().filter_map(|key| entry.get(key)?.get(0)?.as_str());
    let programs = programs.filter(|program| program.contains('/'));
    let programs: Vec<&str> = programs.map(|program| program.trim_start_matches("./")).collect();
    let is_run = |path: &PathBuf| is_script(path) || programs.iter().any(|program| path.ends_with(program));
    files_of(app, entry).into_iter().filter(is_run).collect()
}

fn is_script(path: &Path) -> bool {
    let suffix = path.extension().and_then(OsStr::to_str).unwrap_or_default();
    SCRIPT_SUFFIXES.iter().any(|known| known.eq_ignore_ascii_case(suffix))
}

/// Protects the folder of a script, which may import other files from it, unless tools are to write there.
fn script_folder(app: &App, script: &Path) {
    if let Some(folder) = script.parent().filter(|folder| !holds_written_folder(app, folder)) {
        app.protected.protect_folder(folder);
    }
}

fn may_be_path(text: &str) -> bool {
    !text.is_empty() && text.len() <= MAX_PATH_BYTES && !text.contains(['\n', '\0'])
}

fn collect_texts<'a>(value: &'a Value, texts: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(items) => items.iter().for_each(|item| collect_texts(item, texts)),
        Value::Object(map) => map.values().for_each(|item| collect_texts(item, texts)),
        _ => {}
    }
}

fn programs_of_skills(app: &App, skills: &Skills, folders: &[PathBuf]) {
    let (around, beside): (Vec<_>, Vec<_>) = folders.iter().partition(|folder| holds_workspace(app, folder));
    for folder in beside {
        app.protected.protect_folder(folder);
    }
    // Most are protected with the folder that they are in.
    if !around.is_empty() {
        skills.iter().filter_map(Skill::folder).for_each(|folder| program_folder(app, &folder));
    }
}

/// Protects a folder of programs. Where the workspace is in it, only its manifest and the files that this names are.
fn program_folder(app: &App, folder: &Path) {
    if !holds_workspace(app, folder) {
        return app.protected.protect_folder(folder);
    }
    let manifest = folder.join(MANIFEST);
    app.protected.protect_file(&manifest);
    let read = read_bounded(&manifest, MAX_MANIFEST_BYTES).ok();
    let Some(Ok(document)) = read.map(|bytes| parse(&bytes, Format::Yaml, &Limits::default())) else {
        return;
    };
    let mut texts = Vec::new();
    for tool in document.value.get("tools").and_then(Value::as_array).into_iter().flatten() {
        collect_texts(tool.get("argv").unwrap_or(&Value::Null), &mut texts);
    }
    for file in texts.into_iter().filter(|text| may_be_path(text)).map(|text| folder.join(text)) {
        if file.is_file() {
            if is_script(&file) {
                script_folder(app, &file);
            }
            app.protected.protect_file(file);
        }
    }
}

/// Returns whether a folder is the workspace or above it: protecting all of it would leave tools nothing to write.
fn holds_workspace(app: &App, folder: &Path) -> bool {
    app.file.workspace().is_ok_and(|workspace| real(&workspace).starts_with(real(folder)))
}

/// Returns whether a folder is the workspace, one of the `roots` that file tools write in, or above one of them.
fn holds_written_folder(app: &App, folder: &Path) -> bool {
    let config = app.resolved.module_configs.get("filesystem").and_then(|config| config.as_ref().ok());
    let roots = config.and_then(|config| config.get("roots")?.as_object());
    let roots = roots.into_iter().flat_map(Map::values);
    let mut written = roots
        .filter(|root| text(root, "mode") == Some("write"))
        .filter_map(|root| Some(app.file.workspace().ok()?.join(text(root, "path")?)));
    holds_workspace(app, folder) || written.any(|root| real(&root).starts_with(real(folder)))
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.into())
}

/// Names the programs of sources, engines and hooks that import from the workspace itself, which cannot be protected.
fn importing(app: &App) -> Vec<String> {
    let settings = &app.resolved;
    let entries = settings.registry.iter().chain(settings.engines.values()).chain(&settings.hooks);
    let mut names = BTreeSet::new();
    for entry in entries {
        let scripts = scripts_of(app, &entry.settings);
        let exposed =
            scripts.iter().filter(|script| script.parent().is_some_and(|at| holds_workspace(app, at)));
        names.extend(exposed.filter_map(|script| Some(format!("`{}`", script.file_name()?.display()))));
        let start = entry.text("path").map_or_else(|| app.file.folder.clone(), |path| app.file.path(path));
        if entry.settings.get("worker").is_some() && holds_workspace(app, &start) {
            names.insert("workers".to_owned());
        }
    }
    names.into_iter().take(MAX_NAMED).collect()
}

/// Says what of the workspace is protected, and what can change it all the same.
pub(crate) fn warning(app: &App) -> Option<String> {
    let workspace = app.file.workspace().ok()?.canonicalize().ok()?;
    let file = own_file(app)?.canonicalize().ok()?;
    let writing: Vec<&str> =
        WRITING_MODULES.into_iter().filter(|id| app.config.modules.contains_key(*id)).collect();
    let mut unbound = Vec::new();
    if app.config.modules.contains_key(SHELL) {
        unbound.push("programs of `shell`");
    }
    let is_exec = |entry: &Value| text(entry, "type") == Some("exec");
    if app.config.tools.registry.iter().any(is_exec) || !app.config.tools.engines.is_empty() {
        unbound.push("programs of `exec` and `command`");
    }
    if !file.starts_with(&workspace) || (writing.is_empty() && unbound.is_empty()) {
        return None;
    }
    let mut inside: Vec<String> = app
        .protected
        .paths()
        .iter()
        .filter_map(|path| {
            let folder = path.parent()?.canonicalize().ok()?;
            let path = folder.join(path.file_name()?);
            let shown = path.strip_prefix(&workspace).ok().filter(|_| path.exists())?;
            Some(format!("`{}`", shown.display()))
        })
        .collect();
    inside.dedup();
    let more = inside.len().saturating_sub(MAX_NAMED);
    inside.truncate(MAX_NAMED);
    let mut files = inside.join(", ");
    if more > 0 {
        files = format!("{files} and {more} more");
    }
    let mut message =
        format!("the workspace holds the app itself; its tools may read and not change {files}");
    if !unbound.is_empty() {
        let _ = write!(message, "; {} can change them all the same", unbound.join(" and "));
    }
    let importing = importing(app);
    if !importing.is_empty() {
        let _ = write!(
            message,
            "; what {} import from the workspace itself can be changed",
            importing.join(" and ")
        );
    }
    Some(format!("{message}; set `app.workspace` to a separate folder"))
}
