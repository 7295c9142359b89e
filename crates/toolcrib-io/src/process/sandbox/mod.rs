//! Sandboxes: the files, hosts and processes that a child can reach.
//!
//! A sandboxed program is started by a *launcher*: this program itself, with [`LAUNCHER_ARGUMENT`] as its first word. The
//! launcher has a process and a thread to itself, restricts them, and replaces itself by the program. The program
//! and all that it starts keep the restrictions; there is no way to lift them. The variables of the program reach the
//! launcher under other names, so that one like `LD_PRELOAD` takes effect inside of the sandbox only.
//!
//! Two backends restrict files and processes:
//!
//! - [`Kernel`](SandboxBackend::Kernel): Landlock, which needs no privileges and no other program.
//! - [`Bubblewrap`](SandboxBackend::Bubblewrap): namespaces, by the program `bwrap`.
//!
//! Both add a filter of system calls (seccomp), limits of resources, and drop the capabilities of root. What the system
//! cannot enforce is an error before the program is started.

#[cfg(target_os = "linux")]
mod bubblewrap;
#[cfg(target_os = "linux")]
mod landlock;
#[cfg(target_os = "linux")]
mod launcher;
#[cfg(target_os = "linux")]
mod process_limit;
#[cfg(target_os = "linux")]
mod program_paths;
#[cfg(target_os = "linux")]
mod start;
#[cfg(target_os = "linux")]
mod syscalls;

mod settings;
#[cfg(not(target_os = "linux"))]
mod unsupported;

#[cfg(not(target_os = "linux"))]
use unsupported as start;
#[cfg(not(target_os = "linux"))]
use unsupported as launcher;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::Error;

pub use settings::{
    DEFAULT_MAX_PROCESSES, NetworkWord, ProcessLimit, SandboxBackend, SandboxNetwork, SandboxPlace,
    SandboxProfile, SandboxSettings, SignalScope, UnlimitedWord, WidenedProfile,
};
#[cfg(unix)]
pub(super) use start::{Prepared, ResourceLimit};

/// The first argument of a program that is to call [`run_launcher`].
pub const LAUNCHER_ARGUMENT: &str = "sandbox-launcher";

/// The largest file that a sandboxed program can write, in bytes.
pub const MAX_SANDBOXED_FILE_BYTES: u64 = 4 * 1024 * 1024 * 1024;

/// The exit status of a launcher that did not start its program.
pub const LAUNCHER_FAILED: u8 = 126;

/// True once this program has shown that it can be a launcher.
static IS_LAUNCHER: AtomicBool = AtomicBool::new(false);

/// The restrictions of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sandbox {
    /// The backend that restricts files and processes.
    pub(super) backend: SandboxBackend,
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

impl Sandbox {
    /// Checks that this system can enforce the restrictions.
    ///
    /// # Errors
    ///
    /// Fails if it cannot, with what is missing and what to do.
    pub fn check(&self) -> Result<(), Error> {
        if !IS_LAUNCHER.load(Ordering::Acquire) {
            return Err(unavailable(
                "this program does not start sandboxed programs; call `toolcrib_io::process::run_launcher` at the \
                 beginning of its `main`",
            ));
        }
        start::check(self)
    }

    /// Removes access to the network.
    pub fn without_network(mut self) -> Self {
        self.network = SandboxNetwork::none();
        self
    }

    /// Restricts connections to those of these TCP ports that are allowed already.
    pub fn with_ports(mut self, ports: &[u16]) -> Self {
        self.network = self.network.and_ports(ports);
        self
    }

    /// Returns the network that the program can reach.
    pub fn network(&self) -> &SandboxNetwork {
        &self.network
    }

    /// Restricts the files to these, of which the second are also written, as long as they are allowed already. The
    /// home directory stays.
    pub fn with_files(mut self, read: &[PathBuf], write: &[PathBuf]) -> Self {
        let (readable, writable): (Vec<_>, Vec<_>) = (self.read.clone(), self.write.clone());
        let is_in =
            |folders: &[PathBuf], path: &PathBuf| folders.iter().any(|folder| path.starts_with(folder));
        let may_read = |path: &&PathBuf| is_in(&readable, path) || is_in(&writable, path);
        let (written, only_read): (Vec<&PathBuf>, Vec<&PathBuf>) =
            write.iter().partition(|path| is_in(&writable, path));
        self.read = read.iter().chain(only_read).filter(may_read).cloned().collect();
        self.write = written.into_iter().cloned().collect();
        self
    }
}

/// Runs the launcher if this process was started as one; it returns only if the program cannot be started. Returns `None`
/// in any other process, which can start sandboxed programs from then on. To be called first in `main`, before threads
/// are started.
pub fn run_launcher() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == LAUNCHER_ARGUMENT) {
        let error = launcher::run(arguments);
        eprintln_unchecked(&format!("sandbox: {error}"));
        return Some(ExitCode::from(LAUNCHER_FAILED));
    }
    IS_LAUNCHER.store(true, Ordering::Release);
    None
}

/// Writes a line to standard error. Without a reader, it is lost.
fn eprintln_unchecked(line: &str) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr(), "{line}");
}

fn unavailable(reason: impl Into<String>) -> Error {
    Error::SandboxUnavailable { reason: reason.into() }
}
