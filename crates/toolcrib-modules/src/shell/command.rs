//! The commands of calls, checked against the configuration and the access rules.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use toolcrib_io::files::Root;
use toolcrib_io::process::{Command, MARK_VARIABLE, Sandbox, find_program, is_same_file};
use toolcrib_model::{ErrorKind, ToolError};
use toolcrib_policy::Access;
use toolcrib_sdk::CallContext;

use super::errors::{invalid, tool_error};
use super::{ID, ShellConfig};
use crate::Error;
use crate::root_access::restricted;

/// The maximum number of words of a command.
pub const MAX_WORDS: usize = 1000;

/// The maximum length of all words of a command, in bytes.
const MAX_COMMAND_BYTES: usize = 128 * 1024;

/// The maximum size of the text for standard input, in bytes.
const MAX_STDIN_BYTES: usize = 4 * 1024 * 1024;

/// The maximum length of a script, in bytes: operating systems accept no longer argument.
pub const MAX_SCRIPT_BYTES: usize = 96 * 1024;

/// The programs that run any text that they are given.
const SHELLS: [&str; 15] = [
    "ash", "bash", "csh", "dash", "fish", "ksh", "ksh93", "lksh", "mksh", "pwsh", "rbash", "sh", "tcsh",
    "yash", "zsh",
];

/// Variables that are set unless the operator sets them: output without colours, and no pager that waits for a key.
const DEFAULT_ENVIRONMENT: [(&str, &str); 4] =
    [("NO_COLOR", "1"), ("TERM", "dumb"), ("PAGER", "cat"), ("GIT_PAGER", "cat")];

/// The supported interpreters, and the arguments between them and a script.
const INTERPRETERS: [(&str, &[&str]); 9] = [
    ("sh", &["-c", "--"]),
    ("bash", &["-c", "--"]),
    ("dash", &["-c", "--"]),
    ("zsh", &["-c", "--"]),
    ("python3", &["-c"]),
    ("python", &["-c"]),
    ("node", &["-e"]),
    ("perl", &["-e"]),
    ("ruby", &["-e"]),
];

/// Builds commands.
pub(super) struct CommandBuilder {
    root: Root,
    access: Access,
    sandbox: Option<Arc<Sandbox>>,
    environment: Vec<(String, String)>,
    allow_scripts: bool,
    interpreters: Vec<(String, &'static [&'static str])>,
}

impl CommandBuilder {
    pub(super) fn new(
        config: &ShellConfig,
        root: Root,
        access: Access,
        sandbox: Option<Arc<Sandbox>>,
    ) -> Result<Self, Error> {
        let wrong = |message: String| Error::Config { module: ID, message };
        let mut environment: Vec<_> =
            DEFAULT_ENVIRONMENT.map(|(name, value)| (name.into(), value.into())).to_vec();
        for name in &config.pass_environment {
            check_variable(name).map_err(wrong)?;
            if let Ok(value) = std::env::var(name) {
                environment.push((name.clone(), value));
            }
        }
        for (name, value) in &config.environment {
            check_variable(name).map_err(wrong)?;
            environment.push((name.clone(), value.expose().to_owned()));
        }
        let interpreters = config.interpreters.iter().map(|name| {
            let supported =
                INTERPRETERS.iter().find(|(supported, _)| supported == name).map(|(_, words)| *words);
            let words = supported.ok_or_else(|| {
                let names = INTERPRETERS.map(|(name, _)| name).join(", ");
                wrong(format!("`{name}` under `interpreters` is not supported; expected one of {names}"))
            })?;
            Ok((name.clone(), words))
        });
        Ok(Self {
            root,
            access,
            sandbox,
            environment,
            allow_scripts: config.allow_scripts,
            interpreters: interpreters.collect::<Result<_, Error>>()?,
        })
    }

    /// Returns true if scripts and shells may run.
    pub(super) fn allows_scripts(&self) -> bool {
        self.allow_scripts
    }

    /// Creates a command of these words, which exists and is allowed.
    pub(super) fn parse_argv(
        &self,
        context: &CallContext,
        argv: Vec<String>,
        cwd: Option<&str>,
    ) -> Result<Command, ToolError> {
        if argv.len() > MAX_WORDS {
            let message = format!("`argv` has {} words, expected at most {MAX_WORDS}", argv.len());
            return Err(invalid(message).with_hint("write a long list to a file, or to `stdin`"));
        }
        let bytes: usize = argv.iter().map(String::len).sum();
        if bytes > MAX_COMMAND_BYTES {
            let message = format!("`argv` has {bytes} bytes, expected at most {MAX_COMMAND_BYTES}");
            return Err(invalid(message).with_hint("write long text to a file, or to `stdin`"));
        }
        let command = self.unchecked(context, argv);
        if command.program().chars().any(char::is_whitespace) && command.argv.len() == 1 {
            let message = "`argv` is one word with spaces in it, and no shell splits it";
            return Err(invalid(message).with_hint("give each argument as a word: [\"ls\", \"-l\"]"));
        }
        if !self.allow_scripts && is_shell(Path::new(command.program())) {
            return Err(shell_refused(command.program()));
        }
        let command = self.in_directory(context, command, cwd)?;
        // A link with another name may lead to a shell.
        if !self.allow_scripts && find_program(&command).is_ok_and(|found| resolves_to_shell(&found)) {
            return Err(shell_refused(command.program()));
        }
        Ok(command)
    }

    /// Creates a command that runs a script.
    pub(super) fn parse_script(
        &self,
        context: &CallContext,
        interpreter: &str,
        script: String,
        arguments: Vec<String>,
        cwd: Option<&str>,
    ) -> Result<Command, ToolError> {
        if !self.allow_scripts {
            let hint = "use `shell.run` with the program and its arguments; the operator sets `allow_scripts: true` to \
                        enable scripts";
            return Err(ToolError::new(ErrorKind::Denied, "scripts are not enabled")
                .with_hint(hint)
                .with_setting("allow_scripts"));
        }
        let Some((name, words)) = self.interpreters.iter().find(|(name, _)| name == interpreter) else {
            let names: Vec<_> = self.interpreters.iter().map(|(name, _)| name.as_str()).collect();
            let interpreter: String = interpreter.chars().take(40).collect();
            let message = format!("`interpreter` is `{interpreter}`, which is not enabled");
            return Err(invalid(message).with_hint(format!("there are {}", names.join(", "))));
        };
        if script.len() > MAX_SCRIPT_BYTES {
            let message = format!("`script` has {} bytes, expected at most {MAX_SCRIPT_BYTES}", script.len());
            return Err(invalid(message).with_hint("write it to a file, and run that"));
        }
        let is_shell = SHELLS.contains(&name.as_str());
        let mut argv = vec![name.clone()];
        argv.extend(words.iter().map(ToString::to_string));
        argv.push(script);
        // The next argument of a shell is the name of the script.
        argv.extend(is_shell.then(|| name.clone()));
        argv.extend(arguments);
        if argv.len() > MAX_WORDS || argv.iter().map(String::len).sum::<usize>() > MAX_COMMAND_BYTES {
            let message = "`script` and `arguments` together are too long";
            return Err(invalid(message).with_hint("write long text to a file, or to `stdin`"));
        }
        self.in_directory(context, self.unchecked(context, argv), cwd)
    }

    /// Creates a command for lookups, without checking that it exists and is allowed.
    pub(super) fn unchecked(&self, context: &CallContext, argv: Vec<String>) -> Command {
        let command = Command::new(argv).with_cwd(self.root.path()).with_sandbox(self.sandbox.clone());
        let command = self
            .environment
            .iter()
            .fold(command, |command, (name, value)| command.with_env(name.clone(), value.clone()));
        command.with_guard(context.narrow(&self.access).program_guard())
    }

    /// Sets the working directory of a command, and checks that its program exists.
    fn in_directory(
        &self,
        context: &CallContext,
        command: Command,
        cwd: Option<&str>,
    ) -> Result<Command, ToolError> {
        let command = match cwd {
            None | Some("" | ".") => command,
            Some(cwd) => {
                restricted(&self.root, &context.access).folder(cwd).map_err(|error| tool_error(&error))?;
                command.with_cwd(self.root.path().join(cwd))
            }
        };
        find_program(&command).map_err(|error| tool_error(&error))?;
        Ok(command)
    }
}

/// Returns true if a path has the name of a shell.
fn is_shell(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| SHELLS.contains(&name))
}

/// Returns true if a program is a shell: by the name of its file after links are resolved, or because it is the same
/// file.
fn resolves_to_shell(program: &Path) -> bool {
    let is_same =
        |shell: &str| find_program(&Command::new([shell])).is_ok_and(|shell| is_same_file(&shell, program));
    program.canonicalize().is_ok_and(|real| is_shell(&real)) || SHELLS.into_iter().any(is_same)
}

fn shell_refused(program: &str) -> ToolError {
    let message = format!("`{program}` is a shell, and shells are not enabled");
    ToolError::new(ErrorKind::Denied, message)
        .with_hint("give the program that it would run, and its arguments, as `argv`")
}

/// Converts the text for standard input.
pub(super) fn stdin(text: Option<String>) -> Result<Option<Bytes>, ToolError> {
    match text {
        Some(text) if text.len() > MAX_STDIN_BYTES => {
            let message = format!("`stdin` has {} bytes, expected at most {MAX_STDIN_BYTES}", text.len());
            Err(invalid(message).with_hint("write it to a file, and let the program read that"))
        }
        text => Ok(text.map(Bytes::from)),
    }
}

/// Refuses text that cannot be the name of a variable.
fn check_variable(name: &str) -> Result<(), String> {
    let is_name = !name.is_empty() && !name.contains(['=', '\0']) && name != MARK_VARIABLE;
    if is_name { Ok(()) } else { Err(format!("`{name}` cannot be set as a variable of the environment")) }
}
