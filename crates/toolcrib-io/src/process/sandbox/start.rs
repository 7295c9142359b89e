//! The command line of a launcher, and the checks before it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process;
use std::sync::atomic::Ordering;

use super::landlock::LandlockRules;
use super::launcher::{LaunchPlan, VARIABLE_PREFIX};
use super::prepared::{Prepared, ResourceLimit};
use super::process_limit::ControlGroup;
use super::syscalls::SyscallRules;
use super::{Backend, IS_LAUNCHER, LAUNCHER_ARGUMENT, Sandbox, bubblewrap, program_paths, unavailable};
use crate::Error;
use crate::process::Command;

/// The file of this program, also after it was replaced on disk.
const THIS_PROGRAM: &str = "/proc/self/exe";

/// Checks that this system can enforce the sandbox.
pub(super) fn check(sandbox: &Sandbox) -> Result<(), Error> {
    if !IS_LAUNCHER.load(Ordering::Acquire) {
        return Err(unavailable(
            "this program does not start sandboxed programs; call `toolcrib_io::process::run_launcher` at the \
             beginning of its `main`",
        ));
    }
    match sandbox.backend {
        Backend::Bubblewrap => bubblewrap::check(sandbox)?,
        _ => drop(LandlockRules::new(sandbox).create().map_err(unavailable)?),
    }
    let syscalls =
        SyscallRules { network: sandbox.network.clone(), can_change_modes: sandbox.can_change_modes };
    syscalls.filters().map_err(unavailable)?;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    if !status.lines().any(|line| line.starts_with("Seccomp:")) {
        return Err(unavailable("the kernel has no filters of system calls (`CONFIG_SECCOMP_FILTER`)"));
    }
    if let Some(max_processes) = sandbox.max_processes.number() {
        ControlGroup::of_root(max_processes)?;
    }
    Ok(())
}

/// Returns the launcher of a program, which is at a path and has these variables.
pub(super) fn prepare(
    sandbox: &Sandbox,
    command: &Command,
    path: &Path,
    variables: &BTreeMap<String, OsString>,
) -> Result<Prepared, Error> {
    let limit = sandbox.max_processes.number().map(ControlGroup::of_root).transpose()?.flatten();
    let arguments = command.argv.iter().skip(1).map(OsString::from);
    let mut plan = LaunchPlan {
        max_processes: if limit.is_none() { sandbox.max_processes.number() } else { None },
        group: limit.as_ref().map(|group| group.folder().to_owned()),
        landlock: None,
        syscalls: Some(SyscallRules {
            network: sandbox.network.clone(),
            can_change_modes: sandbox.can_change_modes,
        }),
        name: command.program().into(),
        command: std::iter::once(path.as_os_str().to_owned()).chain(arguments).collect(),
    };
    let search_path = variables.get("PATH").map(OsString::as_os_str);
    // The launcher starts in it, where its relative path leads elsewhere.
    let cwd = command.cwd.as_deref().and_then(|cwd| cwd.canonicalize().ok());
    let files = files(sandbox, path, search_path, cwd.as_deref());
    if sandbox.backend == Backend::Bubblewrap {
        plan = bubblewrap::wrap(plan, &files, cwd.as_deref(), sandbox)?;
    } else {
        plan.landlock = Some(files);
    }
    let mut launcher = process::Command::new(THIS_PROGRAM);
    launcher.arg(LAUNCHER_ARGUMENT).args(plan.words()).env_clear();
    launcher.envs(variables.iter().map(|(name, value)| (format!("{VARIABLE_PREFIX}{name}"), value)));
    Ok(Prepared { command: launcher, limit: limit.map(ResourceLimit::Group), is_marked: true })
}

/// Returns the rules of the program, with all that it needs to run.
fn files(
    sandbox: &Sandbox,
    program: &Path,
    search_path: Option<&OsStr>,
    cwd: Option<&Path>,
) -> LandlockRules {
    let mut rules = LandlockRules::new(sandbox);
    rules.read.extend(program_paths::needed(program, search_path));
    rules.read.extend(cwd.map(Path::to_owned));
    rules.write.push(sandbox.home.clone());
    rules
}
