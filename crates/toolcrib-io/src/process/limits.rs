//! Limits that a process sets for itself.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

/// Limits that a process sets for itself and cannot raise again. With them it cannot open files or sockets, write to
/// files, dump core, or (unless it runs as root) start processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessLimits {
    /// The processor time of the whole process, in seconds, after which the system ends it with the signal that
    /// [`is_out_of_cpu_time`] recognizes.
    pub cpu_seconds: u64,
    /// The address space, in bytes. Beyond it, allocations fail.
    pub address_space: u64,
}

/// The number of descriptors that a limited process may have: the standard streams.
#[cfg(unix)]
const OPEN_FILES: u64 = 3;

/// The processor time, in seconds, between the signal at the limit and the kill of a process that ignores it.
#[cfg(unix)]
const KILL_SECONDS: u64 = 1;

impl ProcessLimits {
    /// Applies the limits to this process.
    ///
    /// # Errors
    ///
    /// Fails if the system refuses a limit or does not have it.
    #[cfg(unix)]
    pub fn apply(&self) -> io::Result<()> {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let limits = [
            (Resource::Cpu, self.cpu_seconds),
            (Resource::As, self.address_space),
            (Resource::Nofile, OPEN_FILES),
            (Resource::Fsize, 0),
            (Resource::Core, 0),
            (Resource::Nproc, 0),
        ];
        for (resource, limit) in limits {
            // With equal limits, the system kills a process without the signal of the lower one.
            let highest = if resource == Resource::Cpu { limit + KILL_SECONDS } else { limit };
            let maximum = getrlimit(resource).maximum.map_or(highest, |maximum| maximum.min(highest));
            setrlimit(resource, Rlimit { current: Some(limit.min(maximum)), maximum: Some(maximum) })?;
        }
        Ok(())
    }

    /// Returns an error.
    #[cfg(not(unix))]
    pub fn apply(&self) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Returns true if the system ended a process because it reached its limit of processor time.
#[cfg(unix)]
pub fn is_out_of_cpu_time(status: ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt as _;
    status.signal() == Some(rustix::process::Signal::XCPU.as_raw())
}

/// Returns false: this platform has no such limit here.
#[cfg(not(unix))]
pub fn is_out_of_cpu_time(_status: ExitStatus) -> bool {
    false
}

/// Returns the processor time that this process has used.
#[cfg(unix)]
pub fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.try_into().unwrap_or_default(), time.tv_nsec.try_into().unwrap_or_default())
}

/// Returns zero: this platform has no such clock here.
#[cfg(not(unix))]
pub fn cpu_time() -> Duration {
    Duration::ZERO
}
