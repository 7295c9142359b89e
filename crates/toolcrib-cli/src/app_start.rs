//! The start of an app for a command, and what it tells of the app.

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use toolcrib_app::{App, Blueprint, Error, Extensions, LaunchOptions, TaskStore};
use toolcrib_exec::DenyAll;
use toolcrib_port::{Approver, Reject, RejectKind};
use toolcrib_runtime::Runtime;

use crate::exit::{Exit, Failure};
use crate::ui::output;

/// The time that an MCP server has to start for a command that connects to all of them, since `npx` and `uvx` may have
/// to download it. Also the time that a command waits for the vectors of tools. Other commands wait for a server as the
/// app configures it, since their answer may not depend on the server that is silent.
pub(crate) const STARTUP_PATIENCE: Duration = Duration::from_mins(1);

/// The app file of this process as a word of a command line.
static APP_WORD: OnceLock<String> = OnceLock::new();

/// Names the app file of this process. A command has one.
pub(crate) fn name_app(path: &Path) {
    let _ = APP_WORD.set(shell_words::quote(&path.to_string_lossy()).into_owned());
}

/// Returns the app file as a word of a command line, for the commands in messages; `APP` before it is
/// named.
pub(crate) fn app_word() -> &'static str {
    APP_WORD.get().map_or("APP", String::as_str)
}

/// Opens an app, whose secrets the log does not say from then on.
pub(crate) fn open(path: &Path, extensions: &Extensions) -> Result<Blueprint, Error> {
    open_with(path, extensions, LaunchOptions::default())
}

pub(crate) fn open_with(
    path: &Path,
    extensions: &Extensions,
    options: LaunchOptions,
) -> Result<Blueprint, Error> {
    name_app(path);
    Blueprint::new(App::open_with(path, extensions.clone())?, options)
}

/// Starts an app for agents, whose tasks outlast this process.
pub(crate) async fn start(app: App, approver: Arc<dyn Approver>) -> Result<Runtime, Failure> {
    start_app(Blueprint::new(app, resident())?, approver).await
}

/// Returns the options of a process that makes the due runs of tasks, which outlast it.
fn resident() -> LaunchOptions {
    let mut options = LaunchOptions::default();
    options.tasks = TaskStore::Resident;
    options
}

/// Returns the options for one answer, which should be complete.
pub(crate) fn patient() -> LaunchOptions {
    let mut options = LaunchOptions::default();
    options.search_patience = STARTUP_PATIENCE;
    options
}

/// Returns the options for an answer that nothing kept of an earlier start may give.
fn close_look() -> LaunchOptions {
    let mut options = patient();
    options.lazy = false;
    options.setup = false;
    options
}

async fn start_app(blueprint: Blueprint, approver: Arc<dyn Approver>) -> Result<Runtime, Failure> {
    for warning in blueprint.warnings() {
        output::tell(&format!("warning: {}: {warning}", blueprint.app.file.name));
    }
    start_runtime(blueprint, approver).await
}

/// Starts an app for one answer. Warnings about the app file are counted only, so that not every command repeats them.
pub(crate) async fn start_briefly(
    blueprint: Blueprint,
    approver: Arc<dyn Approver>,
) -> Result<Runtime, Failure> {
    let warnings = blueprint.warnings().len();
    if warnings > 0 {
        let plural = if warnings == 1 { "" } else { "s" };
        let file = &blueprint.app.file.name;
        output::tell(&format!(
            "note: {warnings} warning{plural} about {file}; `toolcrib validate {file}` shows more"
        ));
    }
    start_runtime(blueprint, approver).await
}

async fn start_runtime(blueprint: Blueprint, approver: Arc<dyn Approver>) -> Result<Runtime, Failure> {
    let runtime = Runtime::start(blueprint, approver).await?;
    tell_warnings(&runtime);
    Ok(runtime)
}

/// Says what may be wrong with an app that was started.
pub(crate) fn tell_warnings(runtime: &Runtime) {
    for warning in runtime.tasks().warnings().iter().cloned().chain(runtime.warnings()) {
        output::tell(&format!("warning: {}: {warning}", runtime.app().file.name));
    }
}

/// Says that records of calls are missing.
pub(crate) fn tell_missing_records(runtime: &Runtime) {
    if let Some(problem) = runtime.executor().audit_problem() {
        output::tell(&format!("warning: {}: {problem}", runtime.app().file.name));
    }
}

/// Starts an app to look at it only.
pub(crate) async fn look(path: &Path, extensions: &Extensions) -> Result<Runtime, Failure> {
    let mut options = patient();
    options.setup = false;
    start_briefly(open_with(path, extensions, options)?, Arc::new(DenyAll)).await
}

/// Starts an app to look at its servers as they are now.
pub(crate) async fn look_closely(path: &Path, extensions: &Extensions) -> Result<Runtime, Failure> {
    start_app(open_with(path, extensions, close_look())?, Arc::new(DenyAll)).await
}

/// Starts an app to look at what was approved of its servers. A strict app that waits for an approval is looked at too.
pub(crate) async fn look_at_approvals(path: &Path, extensions: &Extensions) -> Result<Runtime, Failure> {
    let mut options = close_look();
    options.strict = Some(false);
    start_app(open_with(path, extensions, options)?, Arc::new(DenyAll)).await
}

/// Returns the exit of a command that loaded sources: a source that is down wins over one that is wrong.
pub(crate) fn exit_of_rejects(rejected: &[Reject]) -> Exit {
    let whole_sources = || rejected.iter().filter(|reject| reject.name.is_none());
    let is_down = |kind| matches!(kind, RejectKind::Unavailable | RejectKind::NeedsLogin);
    if whole_sources().any(|reject| is_down(reject.kind)) {
        Exit::Unavailable
    } else if whole_sources().next().is_some() {
        Exit::BadInput
    } else {
        Exit::Ok
    }
}
