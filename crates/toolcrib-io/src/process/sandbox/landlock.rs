//! Files, TCP ports and signals, restricted by Landlock.

use std::fs;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, NetPort, PathBeneath,
    PathFd, Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetError, Scope,
};

use super::{Sandbox, SignalScope};

/// The rights on files that every supported kernel can restrict: those of Linux 6.2, with which files cannot be truncated
/// around the rules.
const FILE_RIGHTS: ABI = ABI::V3;

/// The rights on files that newer kernels restrict as well: `ioctl` on devices.
const NEWER_FILE_RIGHTS: ABI = ABI::V5;

/// The restrictions of a program that Landlock enforces.
#[derive(Clone, Debug, Default)]
pub(super) struct LandlockRules {
    pub(super) read: Vec<PathBuf>,
    pub(super) write: Vec<PathBuf>,
    /// The TCP ports to connect to; all if `None`.
    pub(super) ports: Option<Vec<u16>>,
    pub(super) confine_signals: bool,
}

impl LandlockRules {
    /// Creates the rules of a sandbox.
    pub(super) fn new(sandbox: &Sandbox) -> Self {
        Self {
            read: sandbox.read.clone(),
            write: sandbox.write.clone(),
            ports: sandbox.network.ports(),
            confine_signals: sandbox.signals == SignalScope::Inside,
        }
    }

    /// Creates the rules in the kernel, without applying them.
    pub(super) fn create(&self) -> Result<RulesetCreated, String> {
        self.ruleset().map_err(|error| {
            format!(
                "this system cannot enforce the sandbox by Landlock: {error}. It needs Linux 6.2 with Landlock enabled, \
                 6.7 for a list of ports, and 6.12 to confine signals; set `signals: any` for an older one, or \
                 `backend: bubblewrap`"
            )
        })
    }

    fn ruleset(&self) -> Result<RulesetCreated, RulesetError> {
        let newer = AccessFs::from_all(NEWER_FILE_RIGHTS) & !AccessFs::from_all(FILE_RIGHTS);
        let mut rules = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_all(FILE_RIGHTS))?
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(newer)?
            .scope(Scope::AbstractUnixSocket)?;
        if let Some(ports) = &self.ports {
            // Without any ports, there are no sockets either.
            let level = if ports.is_empty() { CompatLevel::BestEffort } else { CompatLevel::HardRequirement };
            rules =
                rules.set_compatibility(level).handle_access(AccessNet::BindTcp | AccessNet::ConnectTcp)?;
        }
        if self.confine_signals {
            rules = rules.set_compatibility(CompatLevel::HardRequirement).scope(Scope::Signal)?;
        }
        rules.create()
    }

    /// Applies the rules to this process.
    pub(super) fn apply(&self) -> Result<(), String> {
        let failed = |path: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let mut rules = self.create()?.set_compatibility(CompatLevel::BestEffort);
        let devices = AccessFs::MakeChar | AccessFs::MakeBlock;
        let (read, write) = (AccessFs::from_read(FILE_RIGHTS), AccessFs::from_all(FILE_RIGHTS) & !devices);
        let paths =
            self.read.iter().map(|path| (path, read)).chain(self.write.iter().map(|path| (path, write)));
        for (path, rights) in paths {
            let rights = if is_folder(path)? { rights } else { rights & AccessFs::from_file(FILE_RIGHTS) };
            rules = add(rules, path, rights).map_err(|error| failed(path, &error))?;
        }
        for port in self.ports.iter().flatten() {
            let rule = NetPort::new(*port, AccessNet::ConnectTcp);
            rules = rules.add_rule(rule).map_err(|error| format!("port {port}: {error}"))?;
        }
        rules.restrict_self().map(drop).map_err(|error| error.to_string())
    }
}

fn is_folder(path: &Path) -> Result<bool, String> {
    let metadata = fs::metadata(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(metadata.is_dir())
}

fn add(
    rules: RulesetCreated,
    path: &Path,
    rights: BitFlags<AccessFs>,
) -> Result<RulesetCreated, Box<dyn std::error::Error>> {
    Ok(rules.add_rule(PathBeneath::new(PathFd::new(path)?, rights))?)
}
