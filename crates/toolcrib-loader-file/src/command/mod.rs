//! The engine that runs a command for each call, and its command lines.

pub(crate) mod template;

use std::collections::BTreeMap;
use std::path::PathBuf;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::Value;
use toolcrib_io::process::{Command, Output, RunLimits, SandboxSettings, run};
use toolcrib_model::{ErrorKind, Secret, Tool, ToolError, ToolResult};
use toolcrib_policy::{Access, Authorized, Call};
use toolcrib_port::{CallContext, ToolEngine};

use crate::ProgramSandbox;
use template::Template;

pub use template::{ArgvItem, TemplateError};

/// The largest number of characters of a failed program's standard error that a model sees.
const MAX_STDERR_CHARS: usize = 2000;

/// The settings in `tools.engines.<name>` of `type: command`.
///
/// Each word of `argv` may contain placeholders: `{city}` is the argument with that name, `{@tool}` the bare name of
/// the tool, `{@arguments}` all arguments as one JSON text. The name of an argument begins with a letter; any other
/// brace is literal, and `{{city}}` is a literal `{city}`. There is no shell: a value is always one word, or a part of
/// one. The first word, which is the program, has no placeholders, and neither has the script of a shell: in `argv:
/// [sh, -c, 'wc -l < "$1"', sh, "{file}"]` the value remains one word.
///
/// A word whose argument is absent is omitted. Words that belong together form a list, which is omitted as a whole: in
/// `argv: [grep, [-e, "{pattern}"], "{file}"]` the `-e` is omitted with its pattern, and does not take the file for
/// one.
///
/// A word that starts with a placeholder and, once filled in, with `-` is rejected: the program could read it as an
/// option, and that includes numbers (`head -5`). Put `--` before it if the program supports that, as in `argv: [head,
/// --, "{file}"]`, or write the option and its value as one word, as in `--lines={count}`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct CommandSettings {
    /// The command line of every tool that is not listed in `tools`.
    #[serde(default)]
    pub argv: Vec<ArgvItem>,
    /// The command lines of single tools, by bare name.
    #[serde(default)]
    pub tools: BTreeMap<String, Vec<ArgvItem>>,
    /// The format of the program's output; text by default.
    #[serde(default)]
    pub output: CommandOutput,
    /// The working directory; the folder of the app file by default.
    #[serde(default)]
    pub cwd: Option<PathBuf>,
    /// Variables in addition to the few that every child inherits.
    #[serde(default)]
    pub env: BTreeMap<String, Secret>,
    /// The files and the network that the programs can reach.
    #[serde(default)]
    pub sandbox: Option<SandboxSettings>,
}

/// The format of a program's output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CommandOutput {
    /// Text. The result omits its last line break.
    #[default]
    Text,
    /// One JSON value.
    Json,
}

/// An engine that runs a program for each call.
#[derive(Debug)]
pub struct CommandEngine {
    default: Template,
    tools: BTreeMap<String, Template>,
    settings: CommandSettings,
    access: Access,
    sandbox: Option<ProgramSandbox>,
}

impl CommandEngine {
    /// Parses the command lines of the settings.
    pub fn new(settings: CommandSettings) -> Result<Self, TemplateError> {
        let tools = settings
            .tools
            .iter()
            .map(|(tool, argv)| Ok((tool.clone(), Template::parse(argv)?)))
            .collect::<Result<_, TemplateError>>()?;
        Ok(Self {
            default: Template::parse(&settings.argv)?,
            tools,
            settings,
            access: Access::unlimited(),
            sandbox: None,
        })
    }

    /// Sets the programs that may be started.
    pub fn with_access(mut self, access: Access) -> Self {
        self.access = access;
        self
    }

    /// Sets the restrictions of the programs.
    pub fn with_sandbox(mut self, sandbox: Option<ProgramSandbox>) -> Self {
        self.sandbox = sandbox;
        self
    }

    /// Returns the programs that the engine starts.
    pub fn programs(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.default).chain(self.tools.values()).filter_map(Template::program)
    }

    fn template(&self, tool: &str) -> &Template {
        self.tools.get(tool).unwrap_or(&self.default)
    }

    async fn run(&self, call: &Call, context: &CallContext) -> Result<Value, ToolError> {
        let tool = call.tool.name.name();
        let template = self.template(tool);
        if template.is_empty() {
            return Err(ToolError::new(ErrorKind::Unavailable, no_command(tool)).with_retryable(false));
        }
        let argv = template
            .fill(tool, &call.arguments)
            .map_err(|error| ToolError::new(ErrorKind::InvalidArgs, error.to_string()))?;
        let program = argv.first().cloned().unwrap_or_default();
        let mut command = Command::new(argv)
            .with_guard(context.narrow(&self.access).program_guard())
            .with_sandbox(ProgramSandbox::of_call(self.sandbox.as_ref(), &call.tool)?);
        if let Some(cwd) = &self.settings.cwd {
            command = command.with_cwd(cwd);
        }
        for (name, value) in &self.settings.env {
            command = command.with_env(name, value.expose());
        }
        let output = run(&command, None, &RunLimits::default()).await.map_err(|error| {
            let kind = match error {
                toolcrib_io::Error::ProgramNotAllowed { .. } => ErrorKind::Denied,
                _ => ErrorKind::Unavailable,
            };
            ToolError::new(kind, error.to_string()).with_retryable(false)
        })?;
        self.read(&program, &output)
    }

    fn read(&self, program: &str, output: &Output) -> Result<Value, ToolError> {
        let failed = |message| Err(ToolError::new(ErrorKind::ToolFailed, message));
        if !output.status.success() {
            let errors = String::from_utf8_lossy(&output.stderr);
            let errors = errors.trim();
            let shown: String = errors.chars().take(MAX_STDERR_CHARS).collect();
            return failed(format!("`{program}` ended with {}: {shown}", output.status));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let text = text.strip_suffix('\n').unwrap_or(&text);
        match self.settings.output {
            CommandOutput::Text if output.stdout_truncated => {
                Ok(format!("{text}\n[cut: the program printed more than is kept]").into())
            }
            CommandOutput::Text => Ok(text.into()),
            CommandOutput::Json if output.stdout_truncated => {
                failed(format!("`{program}` printed more JSON than is kept; make it print less"))
            }
            CommandOutput::Json => serde_json::from_str(text).or_else(|error| {
                failed(format!("`{program}` should print JSON (`output: json`), and did not: {error}"))
            }),
        }
    }
}

#[async_trait]
impl ToolEngine for CommandEngine {
    async fn invoke(&self, call: &Authorized<Call>, context: &CallContext) -> ToolResult {
        call.outcome(self.run(call, context).await)
    }

    fn unsupported_reason(&self, tool: &Tool) -> Option<String> {
        let name = tool.name.name();
        let template = self.template(name);
        if template.is_empty() {
            return Some(no_command(name));
        }
        let problem = template.unknown_placeholder(tool)?;
        Some(format!("in the command of `{name}`: {problem}"))
    }

    fn warning(&self, tool: &Tool) -> Option<String> {
        ProgramSandbox::warning(self.sandbox.as_ref(), tool)
    }
}

fn no_command(tool: &str) -> String {
    format!("the engine has no command for `{tool}`; set `argv`, or `tools.{tool}`, of the engine")
}
