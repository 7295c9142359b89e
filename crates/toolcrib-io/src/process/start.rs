//! Finding the program, and starting it in a group that the watchdog knows.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{self, ChildStderr, ChildStdin, ChildStdout, Stdio};

use rustix::process::Pid;

use super::command::{Command, DEFAULT_SEARCH_PATH};
use super::descendants::Mark;
use super::environment::{DEPTH_VARIABLE, MARK_VARIABLE, depth, environment};
use super::sandbox::{Prepared, ResourceLimit, Sandbox};
use super::watchdog;
use crate::Error;

pub(super) use super::group::Group;

/// A running child, and the parent's ends of its pipes.
pub(super) struct StartedProcess {
    pub(super) group: Group,
    /// Standard input; `None` if the child reads nothing.
    pub(super) stdin: Option<ChildStdin>,
    pub(super) stdout: ChildStdout,
    pub(super) stderr: ChildStderr,
}

/// Starts the command; `feed` says whether its standard input is a pipe or empty.
pub(super) fn start(command: &Command, feed: bool) -> Result<StartedProcess, Error> {
    command.check()?;
    let name = command.program();
    let program = || name.to_owned();
    if let Some(directory) = &command.cwd
        && !directory.is_dir()
    {
        return Err(Error::WorkingDirectoryMissing { program: program(), directory: directory.clone() });
    }
    let variables = environment(|name| command.inherited(name), &command.env);
    let path = resolve(command, &variables)?;
    watchdog::ensure().map_err(|source| Error::WatchdogFailed { program: program(), source })?;

    let mark = Mark::new();
    let Prepared { command: mut prepared, limit, is_marked } = match &command.sandbox {
        Some(sandbox) => sandbox.prepare(command, (&path, mark.value()), variables)?,
        None => unrestricted(command, &path, variables),
    };
    if is_marked {
        prepared.env(MARK_VARIABLE, mark.value()).env(DEPTH_VARIABLE, depth().saturating_add(1).to_string());
    }
    prepared
        .stdin(if feed { Stdio::piped() } else { Stdio::null() })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    if let Some(directory) = &command.cwd {
        prepared.current_dir(directory);
    }
    let mut child = prepared.spawn().map_err(|source| Error::SpawnFailed { program: program(), source })?;

    let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let leader = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let (Some(leader), (stdin, Some(stdout), Some(stderr))) = (leader, pipes) else {
        abandon(&mut child);
        return Err(Error::PipeFailed { program: program(), source: io::ErrorKind::BrokenPipe.into() });
    };
    let container = limit.as_ref().and_then(ResourceLimit::container);
    let known =
        container.map_or_else(|| watchdog::register(leader), |container| container.set_client(leader));
    if let Err(source) = known {
        abandon(&mut child);
        return Err(Error::WatchdogFailed { program: program(), source });
    }
    let group = Group::adopt(name, leader, mark, child, limit)
        .map_err(|source| Error::SpawnFailed { program: program(), source })?;
    Ok(StartedProcess { group, stdin, stdout, stderr })
}

/// Returns the process of a command that has no sandbox.
fn unrestricted(command: &Command, path: &Path, variables: BTreeMap<String, OsString>) -> Prepared {
    let mut prepared = process::Command::new(path);
    prepared.arg0(command.program()).args(command.argv.iter().skip(1)).env_clear().envs(variables);
    Prepared { command: prepared, limit: None, is_marked: true }
}

/// Returns the file that a command would run, without starting it.
///
/// # Errors
///
/// Fails if no file is found, or if it may not be run.
pub fn find_program(command: &Command) -> Result<PathBuf, Error> {
    command.check()?;
    resolve(command, &environment(|name| command.inherited(name), &command.env))
}

/// Returns the file of a command with these variables. That of a container is a file of its image, or one that is mounted
/// under its path here.
fn resolve(command: &Command, variables: &BTreeMap<String, OsString>) -> Result<PathBuf, Error> {
    let program = command.program();
    if !command.sandbox.as_deref().is_some_and(Sandbox::is_container) {
        return find(command, variables.get("PATH").map(OsString::as_os_str));
    }
    match &command.cwd {
        Some(cwd) if program.contains('/') => Ok(cwd.join(program)),
        _ => Ok(program.into()),
    }
}

/// Returns whether two paths lead to the same file, by links of either kind.
pub fn is_same_file(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |path: &Path| path.metadata().map(|found| (found.dev(), found.ino())).ok();
    identity(one).is_some_and(|one| identity(other) == Some(one))
}

/// Ends a child that cannot be kept. It has hardly begun, so that waiting for it takes no time.
fn abandon(child: &mut process::Child) {
    let _ = child.kill();
    let _ = child.wait();
}

/// Returns the file of the program. The search of the system reports neither the searched folders nor the skipped files.
fn find(command: &Command, search_path: Option<&OsStr>) -> Result<PathBuf, Error> {
    let program = command.program();
    let mut forbidden = None;
    let searched = if program.contains('/') {
        let path = match &command.cwd {
            Some(directory) => std::path::absolute(directory.join(program)),
            None => std::path::absolute(program),
        };
        let path = path.map_err(|source| Error::SpawnFailed { program: program.to_owned(), source })?;
        match kind(&path) {
            Candidate::Executable => return Ok(path),
            Candidate::Forbidden => forbidden = Some(path.clone()),
            Candidate::Missing => {}
        }
        path.display().to_string()
    } else {
        let search_path = search_path.unwrap_or(OsStr::new(DEFAULT_SEARCH_PATH));
        // With relative entries, the program would depend on the working directory.
        for directory in std::env::split_paths(search_path).filter(|directory| directory.is_absolute()) {
            let path = directory.join(program);
            match kind(&path) {
                Candidate::Executable => return Ok(path),
                Candidate::Forbidden => forbidden = forbidden.or(Some(path)),
                Candidate::Missing => {}
            }
        }
        "PATH".to_owned()
    };
    let program = program.to_owned();
    Err(match forbidden {
        Some(path) => Error::ProgramNotExecutable { program, path },
        None => Error::ProgramNotFound { program, searched },
    })
}

enum Candidate {
    Executable,
    Forbidden,
    Missing,
}

fn kind(path: &Path) -> Candidate {
    match path.metadata() {
        Ok(metadata) if metadata.is_file() && metadata.permissions().mode() & 0o111 != 0 => {
            Candidate::Executable
        }
        Ok(metadata) if metadata.is_file() => Candidate::Forbidden,
        _ => Candidate::Missing,
    }
}
