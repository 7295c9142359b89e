//! Programs, which run in the foreground or in the background.
//!
//! A command is a list of words that no shell interprets. It runs in a directory of the workspace, with the variables
//! that are [known to be harmless](toolcrib_io::process::INHERITED_ENVIRONMENT) and those of the [`ShellConfig`]. Only
//! programs that `access.system` names are started. Scripts and shells are off unless [`ShellConfig::allow_scripts`] is
//! set. That keeps a model from using them without need, but is not a security boundary: a program that starts others
//! may also start a shell. Leave programs that must not run out of `access.system`.
//!
//! An exit code other than 0 is a result. A program that exceeds its time limit is sent `SIGTERM`, and `SIGKILL` after
//! [`TERM_GRACE`], with its whole process group, and the result has the output so far. Cancelling a call kills its
//! program immediately. Where `/proc` exists, descendants that have left the group are found and killed, too.
//!
//! Tasks belong to the session that started them, and no other session can access them. They end with it, when the
//! module is closed, and when it is dropped. Without [`ShellConfig::sandbox`],
//! a program has all rights of its user.

mod command;
mod config;
mod errors;
mod output_buffer;
mod run;
mod tasks;
mod which;

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::Value;
use toolcrib_io::process::{Sandbox, SandboxAccess, SandboxPlace, SandboxSettings};
use toolcrib_model::JsonObject;
use toolcrib_policy::access::{AccessRules, Mode};
use toolcrib_sdk::{CallContext, Lifecycle, Module, ToolError, module};

use crate::{Error, ModuleContext};

use command::CommandBuilder;
use run::{Run, RunLimits, RunOutput, RunScript};
use tasks::{BackgroundRun, StartedTask, TaskList, TaskRegistry, TaskReport, TaskStatus, TaskStop};
use which::{NoArguments, Variables, Which, WhichOutput};

#[cfg(test)]
use self::tasks::MAX_ENDED_TASKS;
pub use command::{MAX_SCRIPT_BYTES, MAX_WORDS};
pub use config::{DEFAULT_TIMEOUT_SECONDS, ShellConfig};
pub use run::{MAX_TIMEOUT_SECONDS, TERM_GRACE};
pub use tasks::{MAX_LOG_BYTES, MAX_PAGE_BYTES};

/// The namespace of the tools.
pub const ID: &str = "shell";

/// Returns the module `shell`.
///
/// # Errors
///
/// Returns an error if the configuration names an unsupported interpreter or an invalid variable, or the workspace does
/// not exist.
pub fn module(config: ShellConfig, context: &ModuleContext) -> Result<Module, Error> {
    Ok(module_for(Shell::new(config, context)?))
}

/// Creates the module, which ends its tasks with their sessions and with itself. If scripts are off, it has no tool for
/// them.
fn module_for(shell: Shell) -> Module {
    let (lifecycle, checking) = (Arc::new(shell.clone()), shell.clone());
    let allows_scripts = shell.commands.allows_scripts();
    let module = Module::from(shell)
        .with_lifecycle(lifecycle)
        .with_check(move |tool, arguments, context| checking.check(context, tool, arguments));
    if allows_scripts { module } else { module.without_tool(SCRIPT) }
}

/// The name of the tool that runs scripts.
const SCRIPT: &str = "script";

/// The shared state of the tools of the module. Clones share the tasks.
#[derive(Clone)]
pub struct Shell {
    commands: Arc<CommandBuilder>,
    limits: Arc<RunLimits>,
    tasks: Arc<TaskRegistry>,
}

impl Shell {
    /// Creates the state of [`module()`], for callers that control its tasks.
    ///
    /// # Errors
    ///
    /// Returns an error in the same cases as [`module()`].
    #[expect(
        clippy::needless_pass_by_value,
        reason = "the constructors of all modules have the same signature"
    )]
    pub fn new(config: ShellConfig, context: &ModuleContext) -> Result<Self, Error> {
        let count = |count: std::num::NonZeroU32| usize::try_from(count.get()).unwrap_or(usize::MAX);
        let limits = RunLimits {
            bytes: count(config.max_output_bytes),
            lines: count(config.max_output_lines),
            default_timeout: Duration::from_secs(config.timeout_seconds.get().into()),
        };
        let tasks = TaskRegistry::new(config.max_tasks, config.max_task_seconds);
        let sandbox = config.sandbox.as_ref().map(|settings| open_sandbox(settings, context)).transpose()?;
        let commands = CommandBuilder::new(&config, context.root(ID)?, context.access.clone(), sandbox)?;
        Ok(Self { commands: Arc::new(commands), limits: Arc::new(limits), tasks: Arc::new(tasks) })
    }

    /// Refuses a command that cannot be started, before approval is requested.
    fn check(&self, context: &CallContext, tool: &str, arguments: &JsonObject) -> Result<(), ToolError> {
        // The call itself reports invalid arguments.
        let Ok(StartedCommand { argv, cwd }) = serde_json::from_value(Value::Object(arguments.clone()))
        else {
            return Ok(());
        };
        match tool {
            "run" | "background_run" => self.commands.parse_argv(context, argv, cwd.as_deref()).map(drop),
            _ => Ok(()),
        }
    }
}

/// Returns the sandbox of programs. They cannot change the files that the app consists of.
fn open_sandbox(settings: &SandboxSettings, context: &ModuleContext) -> Result<Arc<Sandbox>, Error> {
    let workspace = &context.workspace;
    let protected = context.protected.paths();
    let limits = |rules: &AccessRules| {
        SandboxAccess::new(rules.ports(), rules.folders(Mode::Read), rules.folders(Mode::Write))
    };
    let access: Vec<_> = context.access.rules().map(limits).collect();
    let place =
        SandboxPlace { name: ID, folder: workspace, workspace, protected: &protected, access: &access };
    let sandbox = settings.open(&place);
    sandbox.map(Arc::new).map_err(|error| Error::Config { module: ID, message: error.to_string() })
}

/// Ends tasks. All of their processes have ended when a method returns.
#[async_trait]
impl Lifecycle for Shell {
    async fn end_session(&self, session: &str) {
        self.tasks.end_session(session).await;
    }

    async fn close(&self) {
        self.tasks.close().await;
    }
}

/// The arguments that determine the program to start.
#[derive(Deserialize)]
struct StartedCommand {
    argv: Vec<String>,
    #[serde(default)]
    cwd: Option<String>,
}

/// Runs programs in the workspace.
#[module(id = "shell", title = "Shell")]
impl Shell {
    /// Runs a program to its end, and gives its exit code and its output. The words of `argv` reach it unchanged.
    #[tool(
        risk = "high",
        timeout = 600,
        side_effects = ["has the effects of the program"],
        aliases = [
            "run command", "execute program", "terminal", "command line", "exécuter une commande", "lancer un programme",
            "ligne de commande",
        ],
        examples = [{"argv": ["git", "status", "--short"]}]
    )]
    async fn run(&self, context: &CallContext, #[arguments] arguments: Run) -> Result<RunOutput, ToolError> {
        let Run { argv, cwd, stdin, timeout_seconds } = arguments;
        let stdin = command::stdin(stdin)?;
        let command = self.commands.parse_argv(context, argv, cwd.as_deref())?;
        run::run(&command, stdin, timeout_seconds, &self.limits, context).await
    }

    /// Runs the text of a script with an interpreter. The operator has to have allowed scripts.
    #[tool(
        risk = "high",
        confirmation_required,
        timeout = 600,
        side_effects = ["has the effects of the script"],
        aliases = [
            "run script", "bash script", "python script", "shell script", "exécuter un script", "lancer un script",
            "script shell",
        ],
        examples = [{"interpreter": "sh", "script": "ls | wc -l"}]
    )]
    async fn script(
        &self,
        context: &CallContext,
        #[arguments] arguments: RunScript,
    ) -> Result<RunOutput, ToolError> {
        let RunScript { interpreter, script, arguments, cwd, stdin, timeout_seconds } = arguments;
        let stdin = command::stdin(stdin)?;
        let command = self.commands.parse_script(context, &interpreter, script, arguments, cwd.as_deref())?;
        run::run(&command, stdin, timeout_seconds, &self.limits, context).await
    }

    /// Shows the path of a program, or why it cannot be started.
    #[tool(
        risk = "low",
        aliases = [
            "find program", "is installed", "program path", "trouver un programme", "programme installé",
            "chemin d'un programme",
        ]
    )]
    fn which(&self, context: &CallContext, #[arguments] arguments: Which) -> Result<WhichOutput, ToolError> {
        which::which(&self.commands, context, arguments)
    }

    /// Lists the names of the environment variables of programs, without values.
    #[tool(
        risk = "low",
        aliases = [
            "environment variables", "list env", "variables d'environnement", "lister les variables",
        ]
    )]
    fn env(&self, context: &CallContext, #[arguments] _arguments: NoArguments) -> Variables {
        which::env(&self.commands, context)
    }

    /// Starts a program in the background, and names the task. `task_status` shows its output.
    #[tool(
        risk = "high",
        side_effects = ["has the effects of the program", "runs on until it ends, is stopped, or its session ends"],
        aliases = [
            "run in background", "start server", "long running command", "exécuter en arrière-plan",
            "lancer en tâche de fond", "démarrer un serveur",
        ],
        examples = [{"argv": ["npm", "run", "dev"]}]
    )]
    fn background_run(
        &self,
        context: &CallContext,
        #[arguments] arguments: BackgroundRun,
    ) -> Result<StartedTask, ToolError> {
        let BackgroundRun { argv, cwd, stdin, timeout_seconds } = arguments;
        let stdin = command::stdin(stdin)?;
        let command = self.commands.parse_argv(context, argv, cwd.as_deref())?;
        let task = self.tasks.begin(&context.session, command, stdin, timeout_seconds)?;
        Ok(StartedTask { task })
    }

    /// Shows the state of a task in the background, and a page of its output. It can wait for the end of the task.
    #[tool(
        risk = "low",
        timeout = 330,
        aliases = [
            "background output", "task output", "wait for task", "état d'une tâche", "sortie d'une tâche",
            "attendre une tâche",
        ],
        examples = [{"task": "task-0a1b2c3d4e5f60718293a4b5", "wait_seconds": 30}]
    )]
    async fn task_status(
        &self,
        context: &CallContext,
        #[arguments] arguments: TaskStatus,
    ) -> Result<TaskReport, ToolError> {
        tasks::status(&self.tasks, context, arguments).await
    }

    /// Lists the tasks of this session that run in the background, and those that ended lately.
    #[tool(
        risk = "low",
        aliases = [
            "background tasks", "running programs", "list jobs", "lister les tâches", "tâches en arrière-plan",
            "programmes en cours",
        ]
    )]
    fn task_list(&self, context: &CallContext, #[arguments] _arguments: NoArguments) -> TaskList {
        tasks::list(&self.tasks, context)
    }

    /// Ends a task in the background, with all that it has started.
    #[tool(
        risk = "medium",
        idempotent,
        side_effects = ["ends the program, which may leave its work half done"],
        aliases = [
            "kill task", "cancel task", "stop server", "arrêter une tâche", "tuer un processus", "arrêter un serveur",
        ]
    )]
    async fn task_stop(
        &self,
        context: &CallContext,
        #[arguments] arguments: TaskStop,
    ) -> Result<TaskReport, ToolError> {
        tasks::stop(&self.tasks, context, arguments).await
    }
}
