//! What tells the descendants of a child from all other processes, also those that left its process group.
//!
//! A child and whatever it starts carry [`MARK_VARIABLE`] in their environments, with a value that no other child has.
//! Where there is `/proc`, a process with that value is found wherever it has gone: `setsid` does not take it away, nor
//! does the death of its parents.

use std::process;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use super::environment::MARK_VARIABLE;

/// Tells this process from every other that there was, as far as the clock does.
static RUN: LazyLock<String> = LazyLock::new(|| {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    format!("{}-{now:x}", process::id())
});

/// The value of the variable for one child.
#[derive(Clone, Debug)]
pub(super) struct Mark(String);

impl Mark {
    /// One that no child had before.
    pub(super) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(format!("{}.{}", *RUN, NEXT.fetch_add(1, Ordering::Relaxed)))
    }

    pub(super) fn value(&self) -> &str {
        &self.0
    }

    /// Kills all processes that carry it, and those that they start meanwhile. Without `/proc` there is nothing to find.
    pub(super) fn end_bearers(&self) {
        #[cfg(target_os = "linux")]
        bearers::end(format!("{MARK_VARIABLE}={}", self.0).as_bytes());
    }
}

/// What the environment of any child's descendant holds, and no other: the beginning of its entry.
pub(super) fn common() -> String {
    format!("{MARK_VARIABLE}={}.", *RUN)
}

#[cfg(target_os = "linux")]
mod bearers {
    use std::fs::{self, File};
    use std::io::Read as _;
    use std::thread;
    use std::time::Duration;

    use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

    /// How often all processes are looked through. Each time finds what the bearers of the time before had started until
    /// they were killed, so that nearly always the second time finds nothing.
    const MAX_ROUNDS: usize = 16;

    /// How much of an environment is read, in bytes; more than Linux lets a program have unless it is told to.
    const MAX_ENVIRONMENT_BYTES: u64 = 8 * 1024 * 1024;

    /// How often those are looked at again that cannot be told yet, since they are being replaced by another program, and how
    /// long is waited before. That takes microseconds, or some milliseconds where there is much to do.
    const MAX_LOOKS: usize = 20;
    const LOOK_INTERVAL: Duration = Duration::from_millis(2);

    /// What is seen of a process.
    #[derive(Clone, Copy, PartialEq)]
    enum Seen {
        /// It carries the entry.
        Bearer,
        /// It has no environment at this moment: `exec` takes the old one away before it gives the new one.
        Changing,
        /// It is somebody else's, or dead.
        Other,
    }

    pub(super) fn end(entry: &[u8]) {
        let mut environment = Vec::new();
        for _ in 0..MAX_ROUNDS {
            let Ok(processes) = fs::read_dir("/proc") else { return };
            let ids = processes.filter_map(|process| process.ok()?.file_name().to_str()?.parse().ok());
            let mut changing: Vec<Pid> = ids.filter_map(Pid::from_raw).collect();
            let mut any = false;
            for look in 0..MAX_LOOKS {
                changing.retain(|id| match see(*id, entry, &mut environment) {
                    Seen::Bearer => {
                        let killed = kill(*id, entry, &mut environment);
                        any |= killed == Seen::Bearer;
                        killed == Seen::Changing
                    }
                    seen => seen == Seen::Changing,
                });
                if changing.is_empty() {
                    break;
                }
                if look + 1 < MAX_LOOKS {
                    thread::sleep(LOOK_INTERVAL);
                }
            }
            if !any {
                return;
            }
        }
    }

    /// Kills a process that was seen to carry the entry, and says what it was seen to be then. The handle that is opened stays with one process: when that is
    /// another than the one that was seen, it either carries the entry as well, or is left alone.
    fn kill(id: Pid, entry: &[u8], environment: &mut Vec<u8>) -> Seen {
        let Ok(process) = pidfd_open(id, PidfdFlags::empty()) else { return Seen::Other };
        match see(id, entry, environment) {
            Seen::Bearer if pidfd_send_signal(process, Signal::KILL).is_err() => Seen::Other,
            seen => seen,
        }
    }

    /// Whether the process carries the entry. The dead carry nothing, and those of other users cannot be looked at.
    fn see(id: Pid, entry: &[u8], environment: &mut Vec<u8>) -> Seen {
        environment.clear();
        let folder = format!("/proc/{}", id.as_raw_pid());
        let Ok(file) = File::open(format!("{folder}/environ")) else { return Seen::Other };
        if file.take(MAX_ENVIRONMENT_BYTES).read_to_end(environment).is_err() {
            return Seen::Other;
        }
        if environment.is_empty() {
            // The dead, and what belongs to the kernel, have no program.
            let has_program = fs::read_link(format!("{folder}/exe")).is_ok();
            return if has_program { Seen::Changing } else { Seen::Other };
        }
        let is_bearer = environment.split(|byte| *byte == 0).any(|found| found == entry);
        if is_bearer { Seen::Bearer } else { Seen::Other }
    }
}
