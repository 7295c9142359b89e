//! Sandboxes: the files, hosts and processes that a child can reach.
//!
//! These backends restrict files and processes:
//!
//! - `Kernel`: Landlock on Linux, which needs no privileges and no other program; Seatbelt on macOS.
//! - `Bubblewrap`: namespaces, by the program `bwrap` of Linux.
//! - `Container`: a new container for each program, by `docker` or `podman`.
//!
//! On Linux, the first two start a program by a *launcher*: this program itself, with [`LAUNCHER_ARGUMENT`] as its first
//! word. The launcher has a process and a thread to itself, restricts them, and replaces itself by the program. The program
//! and all that it starts keep the restrictions; there is no way to lift them. The variables of the program reach the
//! launcher under other names, so that one like `LD_PRELOAD` takes effect inside of the sandbox only. Both add a filter of
//! system calls (seccomp), limits of resources, and drop the capabilities of root.
//!
//! What the system cannot enforce is an error before the program is started.

#[cfg(target_os = "linux")]
mod bubblewrap;
#[cfg(target_os = "linux")]
mod landlock;
#[cfg(target_os = "linux")]
mod launcher;
#[cfg(target_os = "linux")]
mod process_limit;
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod program_paths;
#[cfg(target_os = "linux")]
mod start;
#[cfg(target_os = "linux")]
mod syscalls;

#[cfg(unix)]
mod container;
#[cfg(unix)]
mod container_client;
#[cfg(unix)]
mod container_syscalls;
#[cfg(unix)]
mod prepared;

#[cfg(any(target_os = "macos", all(test, unix)))]
mod seatbelt;

pub(super) mod restrictions;
mod settings;
#[cfg(all(test, unix))]
mod tests;
#[cfg(not(target_os = "linux"))]
mod unsupported;

#[cfg(target_os = "macos")]
use seatbelt as start;
#[cfg(not(target_os = "linux"))]
use unsupported as launcher;
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
use unsupported as start;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use self::restrictions::Backend;
pub use self::restrictions::Sandbox;
use crate::Error;

#[cfg(unix)]
pub(super) use container_client::StartedContainer;
#[cfg(unix)]
pub(super) use prepared::{Prepared, ResourceLimit};
pub use settings::{
    NetworkWord, ProcessLimit, SandboxAccess, SandboxBackend, SandboxNetwork, SandboxPlace, SandboxProfile,
    SandboxSettings, SignalScope, UnlimitedWord, WidenedProfile,
};

/// The first argument of a program that is to call [`run_launcher`].
pub const LAUNCHER_ARGUMENT: &str = "sandbox-launcher";

/// The largest file that a sandboxed program can write, in bytes.
pub(crate) const MAX_SANDBOXED_FILE_BYTES: u64 = 4 * 1024 * 1024 * 1024;

/// The open files that a sandboxed program can have.
#[cfg(unix)]
const MAX_OPEN_FILES: u64 = 4096;

/// The exit status of a launcher that did not start its program.
const LAUNCHER_FAILED: u8 = 126;

/// True once this program has shown that it can be a launcher.
static IS_LAUNCHER: AtomicBool = AtomicBool::new(false);

impl Sandbox {
    /// Checks that this system can enforce the restrictions.
    ///
    /// # Errors
    ///
    /// Fails if it cannot, with what is missing and what to do.
    pub fn check(&self) -> Result<(), Error> {
        #[cfg(unix)]
        if let Backend::Container(container) = &self.backend {
            return container_client::check(self, container);
        }
        start::check(self)
    }

    /// Returns the network that the program can reach.
    pub fn network(&self) -> &SandboxNetwork {
        &self.network
    }

    /// Narrows the restrictions to this access, whose relative paths are those of the workspace. The home directory stays.
    pub fn narrowed(mut self, access: &SandboxAccess, workspace: &Path) -> Self {
        if let Some(ports) = &access.ports {
            self.network = self.network.and_ports(ports);
        }
        if let Some([read, write]) = &access.files {
            // What is not there cannot be named to the kernel.
            let real = |paths: &[PathBuf]| -> Vec<PathBuf> {
                paths.iter().filter_map(|path| workspace.join(path).canonicalize().ok()).collect()
            };
            let (read, write) = (real(read), real(write));
            let written = common(&write, &self.write);
            let mut readable = common(&write, &self.read);
            for allowed in [&self.read, &self.write] {
                readable.extend(common(&read, allowed));
            }
            (self.read, self.write) = (readable, written);
        }
        self
    }
}

/// Returns the files and folders that are in both lists, with those below them.
fn common(one: &[PathBuf], other: &[PathBuf]) -> Vec<PathBuf> {
    let pairs = one.iter().flat_map(|one| other.iter().map(move |other| (one, other)));
    let mut paths: Vec<PathBuf> =
        pairs
            .filter_map(|(one, other)| {
                if one.starts_with(other) { Some(one) } else { other.starts_with(one).then_some(other) }
            })
            .cloned()
            .collect();
    paths.sort();
    paths.dedup();
    paths
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
