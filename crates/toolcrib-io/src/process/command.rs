//! Commands: arguments, working directory and environment.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use super::sandbox::restrictions::Sandbox;
use crate::Error;

/// The search path if neither the command nor the environment of this process has a `PATH`.
pub(crate) const DEFAULT_SEARCH_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A program and its arguments. No shell is involved: each argument is passed verbatim.
///
/// A program without a `/` is searched in the absolute directories of `PATH`. One with a `/` is relative to the working
/// directory of the command.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Command {
    /// The program, followed by its arguments.
    pub argv: Vec<String>,
    /// The working directory; that of this process if `None`.
    pub cwd: Option<PathBuf>,
    /// Variables that extend or override the [inherited ones](super::INHERITED_ENVIRONMENT).
    pub env: BTreeMap<String, String>,
    /// True if the program gets the variables of `env` alone.
    pub clean_env: bool,
    /// The restrictions of the program; none if absent.
    pub sandbox: Option<Arc<Sandbox>>,
    guard: Option<ProgramGuard>,
}

/// A predicate for the programs that may be started.
#[derive(Clone)]
struct ProgramGuard(Arc<ProgramPredicate>);

type ProgramPredicate = dyn Fn(&str) -> bool + Send + Sync;

/// Guards are equal if they share one predicate.
impl PartialEq for ProgramGuard {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for ProgramGuard {}

impl Command {
    /// Creates a command in the working directory of this process.
    pub fn new(argv: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { argv: argv.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// Sets the working directory.
    pub fn with_cwd(mut self, cwd: impl Into<PathBuf>) -> Self {
        self.cwd = Some(cwd.into());
        self
    }

    /// Sets an environment variable.
    pub fn with_env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.env.insert(name.into(), value.into());
        self
    }

    /// Passes none of the inherited variables to the program.
    pub fn with_clean_env(mut self) -> Self {
        self.clean_env = true;
        self
    }

    /// Restricts what the program can reach.
    pub fn with_sandbox(mut self, sandbox: Option<Arc<Sandbox>>) -> Self {
        self.sandbox = sandbox;
        self
    }

    /// Restricts the start to programs that the guard admits. The guard receives the first word verbatim.
    pub fn with_guard(mut self, admits: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        self.guard = Some(ProgramGuard(Arc::new(admits)));
        self
    }

    /// Returns the first word, or an empty text for an empty command.
    pub fn program(&self) -> &str {
        self.argv.first().map_or("", String::as_str)
    }

    /// Returns the value of a variable that the program inherits.
    pub(super) fn inherited(&self, name: &str) -> Option<OsString> {
        if self.clean_env { None } else { std::env::var_os(name) }
    }

    /// Refuses an invalid command, and one that may not be started.
    #[cfg_attr(not(unix), expect(dead_code, reason = "nothing is started there"))]
    pub(super) fn check(&self) -> Result<(), Error> {
        let invalid = |reason: String| Error::InvalidCommand { program: self.program().to_owned(), reason };
        if self.program().is_empty() {
            return Err(invalid("the command is empty; its first word must name a program".into()));
        }
        if let Some(index) = self.argv.iter().position(|word| word.contains('\0')) {
            return Err(invalid(format!("word {index} contains a NUL character; leave it out")));
        }
        for (name, value) in &self.env {
            if name.is_empty() || name.contains(['=', '\0']) {
                return Err(invalid(format!("{name:?} cannot be the name of an environment variable")));
            }
            if value.contains('\0') {
                return Err(invalid(format!("the value of {name} contains a NUL character; leave it out")));
            }
        }
        match &self.guard {
            Some(ProgramGuard(admits)) if !admits(self.program()) => {
                Err(Error::ProgramNotAllowed { program: self.program().to_owned() })
            }
            _ => Ok(()),
        }
    }
}

/// Shows the names of variables but not their values, which are often keys.
impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Command")
            .field("argv", &self.argv)
            .field("cwd", &self.cwd)
            .field("env", &self.env.keys())
            .field("clean_env", &self.clean_env)
            .field("sandbox", &self.sandbox)
            .field("guard", &self.guard.is_some())
            .finish()
    }
}
