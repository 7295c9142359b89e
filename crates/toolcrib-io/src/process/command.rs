//! What to run: words, a directory, an environment.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::Error;

/// Where programs are looked for when neither the command nor our own environment has a `PATH`.
pub const DEFAULT_SEARCH_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A program and its arguments. No shell reads them: each word arrives as it stands here.
///
/// A program without a `/` is looked for in the absolute directories of `PATH`; one with a `/` is relative to the
/// directory that the command starts in.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Command {
    /// The program, then its arguments.
    pub argv: Vec<String>,
    /// The directory to start in; ours if there is none.
    pub cwd: Option<PathBuf>,
    /// Variables to set beside the [inherited ones](super::INHERITED_ENVIRONMENT), or instead of them.
    pub env: BTreeMap<String, String>,
    guard: Option<Guard>,
}

/// Says of programs whether they may be started.
#[derive(Clone)]
struct Guard(Arc<Admits>);

type Admits = dyn Fn(&str) -> bool + Send + Sync;

/// Two guards are the same when they are one.
impl PartialEq for Guard {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Guard {}

impl Command {
    /// A command of these words, in our own directory.
    pub fn new(argv: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { argv: argv.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// Starts it in this directory.
    pub fn with_cwd(mut self, cwd: impl Into<PathBuf>) -> Self {
        self.cwd = Some(cwd.into());
        self
    }

    /// Sets a variable of its environment.
    pub fn with_env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.env.insert(name.into(), value.into());
        self
    }

    /// Lets it be started only if the guard admits its program. It is asked about the first word, as it stands.
    pub fn with_guard(mut self, admits: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        self.guard = Some(Guard(Arc::new(admits)));
        self
    }

    /// The first word; empty if there is none.
    pub fn program(&self) -> &str {
        self.argv.first().map_or("", String::as_str)
    }

    /// Refuses what no system could start, and what may not be started.
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
            Some(Guard(admits)) if !admits(self.program()) => {
                Err(Error::ProgramNotAllowed { program: self.program().to_owned() })
            }
            _ => Ok(()),
        }
    }
}

/// Names the variables but not their values, which are often keys.
impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Command")
            .field("argv", &self.argv)
            .field("cwd", &self.cwd)
            .field("env", &self.env.keys())
            .field("guard", &self.guard.is_some())
            .finish()
    }
}
