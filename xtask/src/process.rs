//! Execution of other programs: cargo and its subcommands, npm, pip.

use std::env;
use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

/// The interval of polling a program that has a deadline.
const POLL: Duration = Duration::from_millis(50);

/// Returns whether this is a CI run, which skips nothing.
pub(crate) fn in_ci() -> bool {
    env::var("CI").is_ok_and(|value| value == "true")
}

/// Returns the cargo that runs this program, in the root of the workspace.
pub(crate) fn cargo(root: &Path) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    command
}

/// Prints and runs a command on this terminal, and fails if it fails.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let line = describe(command);
    println!("xtask: {line}");
    let status = command.status().with_context(|| format!("could not start {line}"))?;
    ensure!(status.success(), "{line}: {status}");
    Ok(())
}

/// Returns whether a program can be started and succeeds. Meant for `--version`.
pub(crate) fn answers(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// Runs a program without input, and kills it after `limit`; the status is then `None`.
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

/// Returns a command as typed in a shell, with the program's file name only.
pub(crate) fn describe(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let program = program.file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
