//! A folder in which the binary runs.

use std::env::consts::EXE_SUFFIX;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tempfile::TempDir;
use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, Command};
use tokio::time::timeout;
use toolcrib_testkit::{Process, processes_of, wait_until};

use super::RunOutput;

/// How long a test waits for what must happen. Loaded machines are slow.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// Within which nothing of a run may be left.
const CLEAN_UP: Duration = Duration::from_secs(5);

/// A folder of a test's own, and the environment that the binary sees there: the path, a home inside the folder by
/// which its descendants are recognised, and what the test adds.
pub(crate) struct TestDir {
    /// Removes the folder in the end.
    _guard: TempDir,
    folder: PathBuf,
    environment: Vec<(String, String)>,
}

impl TestDir {
    /// An empty folder.
    pub(crate) fn new() -> Self {
        let guard = tempfile::tempdir().expect("a temporary folder");
        let folder = guard.path().canonicalize().unwrap();
        fs::create_dir(folder.join("home")).unwrap();
        Self { _guard: guard, folder, environment: Vec::new() }
    }

    /// A folder with this `app.yaml`.
    pub(crate) fn with_app(app: &str) -> Self {
        Self::new().with_file("app.yaml", app)
    }

    /// A copy of a folder of `examples`, with changes to its files.
    pub(crate) fn of_example(example: &str, change: impl Fn(&str, String) -> String) -> Self {
        let from = repository().join("examples").join(example);
        let mut dir = Self::new();
        let mut folders = vec![from.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let name = path.strip_prefix(&from).unwrap().to_str().unwrap();
                let text = fs::read_to_string(&path).unwrap();
                dir = dir.with_file(name, change(name, text));
            }
        }
        dir
    }

    /// The same with one file more.
    pub(crate) fn with_file(self, path: &str, text: impl AsRef<[u8]>) -> Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// The same with one environment variable more.
    pub(crate) fn with_variable(mut self, name: &str, value: impl Into<String>) -> Self {
        self.environment.push((name.to_owned(), value.into()));
        self
    }

    /// The value of an environment variable that was added.
    pub(crate) fn environment(&self, name: &str) -> String {
        let found = self.environment.iter().rev().find(|(other, _)| other == name);
        found.unwrap_or_else(|| panic!("no variable {name}")).1.clone()
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.folder.join(path)
    }

    /// The text of a file.
    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// Runs the binary with these arguments to its end. Nothing of it may be left then.
    pub(crate) async fn run<const N: usize>(&self, arguments: [&str; N]) -> RunOutput {
        self.run_words(&arguments).await
    }

    /// The same for any number of them.
    pub(crate) async fn run_words(&self, arguments: &[&str]) -> RunOutput {
        self.finish(self.start(arguments)).await
    }

    /// The same with a text on standard input, which ends with it.
    pub(crate) async fn run_with_input(&self, arguments: &[&str], input: &str) -> RunOutput {
        let mut command = self.command(binary(), &self.folder);
        let mut child = command.args(arguments).stdin(Stdio::piped()).spawn().expect("the binary starts");
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(input.as_bytes()).await.unwrap();
        drop(stdin);
        self.finish(child).await
    }

    /// Starts the binary with these arguments. It is killed when it is dropped.
    pub(crate) fn start(&self, arguments: &[&str]) -> Child {
        self.start_in(&self.folder, arguments)
    }

    /// Starts the binary in another folder.
    pub(crate) fn start_in(&self, folder: &Path, arguments: &[&str]) -> Child {
        self.command(binary(), folder).args(arguments).spawn().expect("the binary starts")
    }

    /// A program with the environment of the dir.
    pub(crate) fn command(&self, program: impl AsRef<Path>, folder: &Path) -> Command {
        let mut command = Command::new(program.as_ref());
        command
            .current_dir(folder)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path("home"))
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    /// Waits for the end of a binary that was started.
    pub(crate) async fn finish(&self, child: Child) -> RunOutput {
        let output = timeout(PATIENCE, child.wait_with_output()).await.expect("the binary ends").unwrap();
        self.assert_nothing_is_left(&[]).await;
        RunOutput::new(&output)
    }

    /// Fails when one of these processes is alive, or any process that was started from here.
    pub(crate) async fn assert_nothing_is_left(&self, known: &[Process]) {
        let mut left = Vec::new();
        let look = || {
            left = processes_of(&self.folder)?;
            left.extend(known.iter().filter(|process| process.is_alive()).cloned());
            Ok(left.is_empty().then_some(()))
        };
        let clean = wait_until("the end of all processes", CLEAN_UP, look).await;
        assert!(clean.is_ok(), "these processes are left: {left:#?}");
    }

    /// Snapshots without what differs from run to run: the folder, ports, durations, the path of
    /// programs.
    pub(crate) fn snapshot_settings(&self) -> insta::Settings {
        let mut settings = insta::Settings::clone_current();
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.add_filter(&escaped(&self.folder), "[dir]");
        settings.add_filter(&escaped(&binary()), "[toolcrib]");
        settings.add_filter(r"127\.0\.0\.1:\d+", "127.0.0.1:[port]");
        settings.add_filter(r#""ms": \d+"#, r#""ms": "[ms]""#);
        settings.add_filter(r"in \d+ ms", "in [ms] ms");
        settings
    }
}

/// Returns the root of the repository.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The binary under test.
pub(crate) fn binary() -> PathBuf {
    let path = match std::env::var_os("TOOLCRIB_BIN") {
        Some(path) => PathBuf::from(path),
        None => beside_this_program(),
    };
    let path = std::path::absolute(path).unwrap();
    assert!(path.is_file(), "{} is not there; build it: cargo build --bin toolcrib", path.display());
    path
}

/// This program is `target/debug/deps/it-…`, the binary `target/debug/toolcrib`.
fn beside_this_program() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    program.ancestors().nth(2).unwrap().join(format!("toolcrib{EXE_SUFFIX}"))
}

/// A path as a regular expression that matches it and nothing else.
fn escaped(path: &Path) -> String {
    let mut pattern = String::new();
    for character in path.to_str().expect("a path in UTF-8").chars() {
        if !character.is_alphanumeric() && character != '/' {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern
}
