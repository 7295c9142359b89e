//! One file for each command.

mod approve;
mod call;
mod doctor;
mod eval;
mod import;
mod init;
mod install;
mod lint;
mod load;
mod login;
mod models;
mod new;
mod plan;
mod run;
mod schema;
mod search;
mod serve;
mod sessions;
mod show;
mod tasks;
mod tools;
mod trust;
mod validate;
mod why;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use toolcrib_app::{App, Blueprint, Error, Extensions, LaunchOptions, TaskStore};
use toolcrib_exec::DenyAll;
use toolcrib_policy::Principal;
use toolcrib_port::Approver;
use toolcrib_runtime::Runtime;

use crate::arguments::{Arguments, Command};
use crate::exit::{Exit, Failure};
use crate::extensions::extensions;
use crate::ui::output;

/// Runs one command to its exit code.
pub(crate) async fn run(arguments: Arguments) -> ExitCode {
    let (json, strict) = (arguments.json, arguments.strict);
    let outcome = match arguments.command {
        Command::Init(arguments) => init::run(&arguments, json),
        Command::Validate(arguments) => validate::run(&arguments, json).await,
        Command::Schema(arguments) => schema::run(&arguments, json),
        Command::New(arguments) => new::run(&arguments.command, json),
        Command::Load(arguments) => load::run(arguments, strict, json).await,
        Command::Tools(arguments) => tools::run(&arguments, json).await,
        Command::Trust(arguments) => trust::run(&arguments, json).await,
        Command::Lint(arguments) => lint::run(&arguments, json).await,
        Command::Show(arguments) => show::run(&arguments, json).await,
        Command::Why(arguments) => why::run(&arguments, json).await,
        Command::Search(arguments) => search::run(&arguments, json).await,
        Command::Call(arguments) => call::run(&arguments, json).await,
        Command::Run(arguments) => Box::pin(run::run(arguments, json)).await,
        Command::Tasks(arguments) => tasks::run(&arguments, json).await,
        Command::Sessions(arguments) => sessions::run(&arguments, json),
        Command::Plan(arguments) => plan::run(&arguments, json).await,
        Command::Login(arguments) => login::run(&arguments, json).await,
        Command::Serve(arguments) => Box::pin(serve::run(&arguments)).await,
        Command::Approve(arguments) => approve::run(&arguments, json).await,
        Command::Install(arguments) => install::run(&arguments, json).await,
        Command::Import(arguments) => import::run(&arguments, json),
        Command::Eval(arguments) => eval::run(&arguments, json).await,
        Command::Doctor(arguments) => doctor::run(&arguments, json).await,
        Command::Models(arguments) => models::run(&arguments, json).await,
    };
    let exit = outcome.unwrap_or_else(|failure| {
        if json {
            output::json(&failure.json());
        }
        output::tell(&format!("error: {}", failure.message));
        failure.exit
    });
    exit.into()
}

/// The time that an MCP server has to start for a command that connects to all of them, since `npx` and `uvx` may have
/// to download it. Also the time that a command waits for the vectors of tools. Other commands wait for a server as the
/// app configures it, since their answer may not depend on the server that is silent.
const STARTUP_PATIENCE: Duration = Duration::from_mins(1);

/// The session of commands that make single calls, or ask what a call would meet.
const SESSION: &str = "cli";

/// Returns the principal of the command line.
pub(crate) fn principal() -> Principal<'static> {
    Principal::new(SESSION)
}

/// Opens an app, whose secrets the log does not say from then on.
fn open(path: &Path) -> Result<Blueprint, Error> {
    open_with(path, LaunchOptions::default())
}

fn open_with(path: &Path, options: LaunchOptions) -> Result<Blueprint, Error> {
    Blueprint::new(App::open_with(path, extensions())?, options)
}

/// Opens an app and starts it for agents, whose tasks outlast this process.
async fn start(path: &Path, extensions: Extensions, approver: Arc<dyn Approver>) -> Result<Runtime, Failure> {
    start_app(Blueprint::new(App::open_with(path, extensions)?, resident())?, approver).await
}

/// Returns the options of a process that makes the due runs of tasks, which outlast it.
fn resident() -> LaunchOptions {
    let mut options = LaunchOptions::default();
    options.tasks = TaskStore::Resident;
    options
}

/// Returns the options for one answer, which should be complete.
fn patient() -> LaunchOptions {
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
async fn start_briefly(blueprint: Blueprint, approver: Arc<dyn Approver>) -> Result<Runtime, Failure> {
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
fn tell_warnings(runtime: &Runtime) {
    for warning in runtime.tasks().warnings().iter().cloned().chain(runtime.warnings()) {
        output::tell(&format!("warning: {}: {warning}", runtime.app().file.name));
    }
}

/// Says that records of calls are missing.
fn tell_missing_records(runtime: &Runtime) {
    if let Some(problem) = runtime.executor().audit_problem() {
        output::tell(&format!("warning: {}: {problem}", runtime.app().file.name));
    }
}

/// Starts an app to look at it only.
async fn look(path: &Path) -> Result<Runtime, Failure> {
    let mut options = patient();
    options.setup = false;
    start_briefly(open_with(path, options)?, Arc::new(DenyAll)).await
}

/// Starts an app to look at its servers as they are now.
async fn look_closely(path: &Path) -> Result<Runtime, Failure> {
    start_app(open_with(path, close_look())?, Arc::new(DenyAll)).await
}

/// Starts an app to look at what was approved of its servers. A strict app that waits for an approval is looked at too.
async fn look_at_approvals(path: &Path) -> Result<Runtime, Failure> {
    let mut options = close_look();
    options.strict = Some(false);
    start_app(open_with(path, options)?, Arc::new(DenyAll)).await
}

/// Returns the exit of a command that loaded sources: a source that is down wins over one that is wrong.
fn exit_of_rejects(rejected: &[toolcrib_port::Reject]) -> Exit {
    use toolcrib_port::RejectKind;
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
