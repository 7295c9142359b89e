//! The restrictions of a program.

use std::path::PathBuf;

#[cfg(unix)]
use super::container::Container;
use super::settings::{ProcessLimit, SandboxNetwork, SignalScope};

/// The means that restrict files and processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Backend {
    Kernel,
    Bubblewrap,
    #[cfg(unix)]
    Container(Container),
}

/// The restrictions of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sandbox {
    pub(super) backend: Backend,
    /// The home directory of the program, which it can write in.
    pub(super) home: PathBuf,
    /// Files and folders that it can read, in addition to programs and libraries of the system.
    pub(super) read: Vec<PathBuf>,
    /// Files and folders that it can write.
    pub(super) write: Vec<PathBuf>,
    pub(super) network: SandboxNetwork,
    pub(super) signals: SignalScope,
    pub(super) max_processes: ProcessLimit,
    /// False if it cannot change the mode and the times of files either.
    pub(super) can_change_modes: bool,
}
