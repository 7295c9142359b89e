//! Execution of other programs: cargo and its subcommands, npm, pip.

use std::env;
use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

/// How often a program that runs against a deadline is asked whether it has ended.
const POLL: Duration = Duration::from_millis(50);

/// Whether this is a run of the continuous integration, which leaves nothing out.
pub(crate) fn in_ci() -> bool {
    env::var("CI").is_ok_and(|value| value == "true")
}

/// The cargo that runs this program, in the root of the workspace.
pub(crate) fn cargo(root: &Path) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    command
}

/// Says what it runs, runs it on this terminal, and fails as it does.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let line = describe(command);
    println!("xtask: {line}");
    let status = command.status().with_context(|| format!("could not start {line}"))?;
    ensure!(status.success(), "{line}: {status}");
    Ok(())
}

/// Whether a program can be started and ends well. Meant for `--version`.
pub(crate) fn answers(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// Runs a program without input and kills it when `limit` has passed; then there is no status.
pub(crate) fn run_within(command: &mut Command, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let deadline = Instant::now() + limit;
    let mut child = command.stdin(Stdio::null()).spawn()?;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= deadline {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(POLL);
    }
}

/// A command as one would type it, the program without its folder.
pub(crate) fn describe(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let program = program.file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
