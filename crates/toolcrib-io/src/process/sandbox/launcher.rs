//! The launcher: restricts its process, and replaces itself by the program.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{self, Command};

use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

use super::landlock::LandlockRules;
use super::settings::NetworkWord;
use super::syscalls::SyscallRules;
use super::{MAX_SANDBOXED_FILE_BYTES, SandboxNetwork, process_limit, program_paths};
use crate::process::{DEPTH_VARIABLE, MARK_VARIABLE};

/// The prefix of the variables of the program until the launcher has restricted itself.
pub(super) const VARIABLE_PREFIX: &str = "TOOLCRIB_SANDBOXED_";

/// The word between the options of the launcher and the command.
const END_OF_OPTIONS: &str = "--";

/// The steps of a launcher before it becomes the program.
#[derive(Debug, Default)]
pub(super) struct LaunchPlan {
    /// The number of processes, by the limit of the system.
    pub(super) max_processes: Option<u32>,
    /// The control group to enter, which limits the number of processes instead.
    pub(super) group: Option<PathBuf>,
    pub(super) landlock: Option<LandlockRules>,
    /// The filter of system calls. Without one, the program is another launcher in its way.
    pub(super) syscalls: Option<SyscallRules>,
    /// The name that the program is called by.
    pub(super) name: OsString,
    /// The file of the program, and its arguments.
    pub(super) command: Vec<OsString>,
}

impl LaunchPlan {
    /// Returns the words that a launcher reads.
    pub(super) fn words(&self) -> Vec<OsString> {
        let mut words = Vec::new();
        let mut option = |name: &str, value: &OsStr| words.extend([OsString::from(name), value.to_owned()]);
        if let Some(max_processes) = self.max_processes {
            option("--processes", OsStr::new(&max_processes.to_string()));
        }
        if let Some(group) = &self.group {
            option("--group", group.as_os_str());
        }
        if let Some(rules) = &self.landlock {
            option("--files", OsStr::new(if rules.confine_signals { "and-signals" } else { "only" }));
            for (name, paths) in [("--read", &rules.read), ("--write", &rules.write)] {
                for path in paths {
                    option(name, path.as_os_str());
                }
            }
        }
        if let Some(rules) = &self.syscalls {
            option("--modes", OsStr::new(if rules.can_change_modes { "change" } else { "keep" }));
            match rules.network.ports() {
                None => option("--network", OsStr::new("all")),
                Some(ports) => {
                    option("--network", OsStr::new("ports"));
                    for port in ports {
                        option("--port", OsStr::new(&port.to_string()));
                    }
                }
            }
        }
        option("--name", &self.name);
        words.push(END_OF_OPTIONS.into());
        words.extend(self.command.iter().cloned());
        words
    }

    /// Reads the words that follow [`LAUNCHER_ARGUMENT`](super::LAUNCHER_ARGUMENT).
    pub(super) fn parse(mut words: impl Iterator<Item = OsString>) -> Result<Self, String> {
        let mut plan = Self::default();
        let (mut ports, mut has_all_ports, mut can_change_modes) = (Vec::new(), false, None);
        loop {
            let name = words.next().ok_or("expected `--` and a program, found the end of the words")?;
            if name == END_OF_OPTIONS {
                break;
            }
            let value = words.next().ok_or_else(|| format!("expected a value of {}", name.display()))?;
            let invalid = || format!("{} is not a value of {}", value.display(), name.display());
            let text = || value.to_str().ok_or_else(invalid);
            match name.to_str() {
                Some("--processes") => plan.max_processes = Some(text()?.parse().map_err(|_| invalid())?),
                Some("--group") => plan.group = Some(PathBuf::from(&value)),
                Some("--files") => {
                    plan.landlock = Some(LandlockRules {
                        confine_signals: text()? == "and-signals",
                        ..LandlockRules::default()
                    });
                }
                Some("--read") => {
                    plan.landlock.as_mut().ok_or_else(invalid)?.read.push(PathBuf::from(&value));
                }
                Some("--write") => {
                    plan.landlock.as_mut().ok_or_else(invalid)?.write.push(PathBuf::from(&value));
                }
                Some("--modes") => can_change_modes = Some(text()? == "change"),
                Some("--network") => has_all_ports = text()? == "all",
                Some("--port") => ports.push(text()?.parse().map_err(|_| invalid())?),
                Some("--name") => plan.name.clone_from(&value),
                _ => return Err(format!("unknown option {}", name.display())),
            }
        }
        plan.command = words.collect();
        let network =
            if has_all_ports { SandboxNetwork::Word(NetworkWord::All) } else { SandboxNetwork::Ports(ports) };
        if let Some(rules) = &mut plan.landlock {
            rules.ports = network.ports();
        }
        plan.syscalls = can_change_modes.map(|can_change_modes| SyscallRules { network, can_change_modes });
        Ok(plan)
    }
}

/// Becomes the program that the words describe, within its restrictions. Returns only an error.
pub(super) fn run(words: impl Iterator<Item = OsString>) -> String {
    match LaunchPlan::parse(words).and_then(|plan| restrict(&plan).map(|()| plan)) {
        Ok(plan) => {
            let error = replaced_by(&plan);
            let program =
                plan.command.first().map(|program| program.display().to_string()).unwrap_or_default();
            format!(
                "cannot start {program}: {error}; if the file is there, add its folder, and that of its interpreter, to \
                 `read` of `sandbox`"
            )
        }
        Err(error) => error,
    }
}

/// Applies the restrictions, each with what it needs that a later one would refuse.
fn restrict(plan: &LaunchPlan) -> Result<(), String> {
    // Descriptors that this program has inherited lead to files regardless of the rules.
    close_fds::set_fds_cloexec(3, &[]);
    process_limit::apply(plan.max_processes, plan.group.as_deref(), MAX_SANDBOXED_FILE_BYTES)
        .map_err(|error| format!("cannot limit its resources: {error}"))?;
    if let Some(rules) = &plan.landlock {
        let mut rules = rules.clone();
        rules.read.extend(program_paths::of_kernel(process::id()));
        rules.write.extend(program_paths::DEVICES.iter().map(PathBuf::from).filter(|device| device.exists()));
        rules.apply().map_err(|error| format!("cannot restrict its files: {error}"))?;
    }
    if let Some(rules) = &plan.syscalls {
        drop_capabilities().map_err(|error| format!("cannot drop capabilities: {error}"))?;
        rules.apply().map_err(|error| format!("cannot filter system calls: {error}"))?;
    }
    Ok(())
}

/// Drops the capabilities of root, except that to files of other users: the rules apply to them as well.
fn drop_capabilities() -> rustix::io::Result<()> {
    let kept = capabilities(None)?.permitted & CapabilitySet::DAC_OVERRIDE;
    set_capabilities(
        None,
        CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() },
    )
}

/// Replaces this process by the program. Returns only an error.
fn replaced_by(plan: &LaunchPlan) -> std::io::Error {
    let Some((program, arguments)) = plan.command.split_first() else {
        return std::io::Error::other("expected a program, found no word");
    };
    let mut command = Command::new(Path::new(program));
    command.args(arguments).arg0(&plan.name);
    if plan.syscalls.is_some() {
        command.env_clear().envs(std::env::vars_os().filter_map(|(name, value)| {
            let text = name.to_str()?;
            let kept = [MARK_VARIABLE, DEPTH_VARIABLE].contains(&text).then_some(text);
            Some((kept.or_else(|| text.strip_prefix(VARIABLE_PREFIX))?.to_owned(), value))
        }));
    }
    command.exec()
}
