//! What to run: words, a directory, an environment.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

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
}

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

    /// The first word; empty if there is none.
    pub fn program(&self) -> &str {
        self.argv.first().map_or("", String::as_str)
    }

    /// Refuses what no system could start.
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
        Ok(())
    }
}

/// Names the variables but not their values, which are often keys.
impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Command")
            .field("argv", &self.argv)
            .field("cwd", &self.cwd)
            .field("env", &self.env.keys())
            .finish()
    }
}
