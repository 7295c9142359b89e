//! The command line of a launcher, and the checks before it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::process;

use super::landlock::LandlockRules;
use super::launcher::{LaunchPlan, VARIABLE_PREFIX};
use super::process_limit::ControlGroup;
use super::syscalls::SyscallRules;
use super::{LAUNCHER_ARGUMENT, Sandbox, SandboxBackend, bubblewrap, program_paths, unavailable};
use crate::Error;
use crate::process::Command;

/// The file of this program, also after it was replaced on disk.
const THIS_PROGRAM: &str = "/proc/self/exe";

/// The name of the folder for temporary files in a home directory.
const TEMPORARY: &str = "tmp";

/// Variables that lead to a home directory, and are not inherited.
const HOME_VARIABLES: [&str; 4] = ["XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"];

/// The holder of a limit of a program.
pub(crate) type ResourceLimit = ControlGroup;

/// A launcher that can be started.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) command: process::Command,
    /// The control group of the program, to be kept until it has ended.
    pub(crate) limit: Option<ControlGroup>,
}

/// Checks that this system can enforce the sandbox.
pub(super) fn check(sandbox: &Sandbox) -> Result<(), Error> {
    match sandbox.backend {
        SandboxBackend::Kernel => drop(LandlockRules::new(sandbox).create().map_err(unavailable)?),
        SandboxBackend::Bubblewrap => bubblewrap::check(sandbox)?,
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

impl Sandbox {
    /// Returns the launcher of a program, which is at a path and has these variables.
    pub(crate) fn prepare(
        &self,
        command: &Command,
        path: &Path,
        mut variables: BTreeMap<String, OsString>,
    ) -> Result<Prepared, Error> {
        self.check()?;
        let temporary = self.home.join(TEMPORARY);
        create_private(&temporary).map_err(|error| {
            unavailable(format!("the home directory {} cannot be created: {error}", self.home.display()))
        })?;
        variables
            .retain(|name, _| command.env.contains_key(name) || !HOME_VARIABLES.contains(&name.as_str()));
        for (name, value) in [("HOME", &self.home), ("TMPDIR", &temporary)] {
            if !command.env.contains_key(name) {
                variables.insert(name.to_owned(), value.clone().into_os_string());
            }
        }
        let limit = self.max_processes.number().map(ControlGroup::of_root).transpose()?.flatten();
        let arguments = command.argv.iter().skip(1).map(OsString::from);
        let mut plan = LaunchPlan {
            max_processes: if limit.is_none() { self.max_processes.number() } else { None },
            group: limit.as_ref().map(|group| group.folder().to_owned()),
            landlock: None,
            syscalls: Some(SyscallRules {
                network: self.network.clone(),
                can_change_modes: self.can_change_modes,
            }),
            name: command.program().into(),
            command: std::iter::once(path.as_os_str().to_owned()).chain(arguments).collect(),
        };
        let search_path = variables.get("PATH").map(OsString::as_os_str);
        // The launcher starts in it, where its relative path leads elsewhere.
        let cwd = command.cwd.as_deref().and_then(|cwd| cwd.canonicalize().ok());
        let cwd = cwd.as_deref();
        match self.backend {
            SandboxBackend::Kernel => plan.landlock = Some(self.files(path, search_path, cwd)),
            SandboxBackend::Bubblewrap => {
                plan = bubblewrap::wrap(plan, &self.files(path, search_path, cwd), cwd, self)?;
            }
        }
        let mut launcher = process::Command::new(THIS_PROGRAM);
        launcher.arg(LAUNCHER_ARGUMENT).args(plan.words()).env_clear();
        launcher.envs(variables.iter().map(|(name, value)| (format!("{VARIABLE_PREFIX}{name}"), value)));
        Ok(Prepared { command: launcher, limit })
    }

    /// Returns the rules of the program, with all that it needs to run.
    fn files(&self, program: &Path, search_path: Option<&OsStr>, cwd: Option<&Path>) -> LandlockRules {
        let mut rules = LandlockRules::new(self);
        rules.read.extend(program_paths::needed(program, search_path));
        rules.read.extend(cwd.map(Path::to_owned));
        rules.write.push(self.home.clone());
        rules
    }
}

/// Creates a folder that only this user can open.
fn create_private(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}
