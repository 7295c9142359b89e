//! Identification of the descendants of a child, including those that left its process group.
//!
//! A child and its descendants carry [`MARK_VARIABLE`] in their environments, with a unique value for each child. With
//! `/proc`, a process with that value can be found even after `setsid` or the death of its parents.

use std::process;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use super::environment::MARK_VARIABLE;

/// An identifier of this process that is unique over time, within the precision of the clock.
static RUN: LazyLock<String> = LazyLock::new(|| {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    format!("{}-{now:x}", process::id())
});

/// The value of the variable for one child.
#[derive(Clone, Debug)]
pub(super) struct Mark(String);

impl Mark {
    /// Creates a mark that no child had before.
    pub(super) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(format!("{}.{}", *RUN, NEXT.fetch_add(1, Ordering::Relaxed)))
    }

    pub(super) fn value(&self) -> &str {
        &self.0
    }

    /// Kills all processes that carry the mark, and those that they start meanwhile. Does nothing without `/proc`.
    pub(super) fn end_bearers(&self) {
        #[cfg(target_os = "linux")]
        bearers::end(format!("{MARK_VARIABLE}={}", self.0).as_bytes());
    }
}

/// Returns the common prefix of the marks of all children of this process.
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

    /// The maximum number of scans over all processes. Each scan finds processes that the previous ones started before they
    /// were killed, so the second scan almost always finds nothing.
    const MAX_ROUNDS: usize = 16;

    /// The maximum number of bytes read of an environment; more than the default limit of Linux.
    const MAX_ENVIRONMENT_BYTES: u64 = 8 * 1024 * 1024;

    /// The maximum number of checks of a process in the middle of `exec`, and the pause between them. `exec` takes
    /// microseconds, or some milliseconds on a busy machine.
    const MAX_LOOKS: usize = 20;
    const LOOK_INTERVAL: Duration = Duration::from_millis(2);

    /// The relation of a process to the mark.
    #[derive(Clone, Copy, PartialEq)]
    enum MarkState {
        /// The process carries the entry.
        Bearer,
        /// The process has no environment at the moment: `exec` removes the old one before it sets the new one.
        Changing,
        /// The process belongs to another user, or is dead.
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
                    MarkState::Bearer => {
                        let killed = kill(*id, entry, &mut environment);
                        any |= killed == MarkState::Bearer;
                        killed == MarkState::Changing
                    }
                    seen => seen == MarkState::Changing,
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
    fn kill(id: Pid, entry: &[u8], environment: &mut Vec<u8>) -> MarkState {
        let Ok(process) = pidfd_open(id, PidfdFlags::empty()) else { return MarkState::Other };
        match see(id, entry, environment) {
            MarkState::Bearer if pidfd_send_signal(process, Signal::KILL).is_err() => MarkState::Other,
            seen => seen,
        }
    }

    /// Returns the relation of a process to the mark. Dead processes carry no mark, and those of other users are unreadable.
    fn see(id: Pid, entry: &[u8], environment: &mut Vec<u8>) -> MarkState {
        environment.clear();
        let folder = format!("/proc/{}", id.as_raw_pid());
        let Ok(file) = File::open(format!("{folder}/environ")) else { return MarkState::Other };
        if file.take(MAX_ENVIRONMENT_BYTES).read_to_end(environment).is_err() {
            return MarkState::Other;
        }
        if environment.is_empty() {
            // The dead, and what belongs to the kernel, have no program.
            let has_program = fs::read_link(format!("{folder}/exe")).is_ok();
            return if has_program { MarkState::Changing } else { MarkState::Other };
        }
        let is_bearer = environment.split(|byte| *byte == 0).any(|found| found == entry);
        if is_bearer { MarkState::Bearer } else { MarkState::Other }
    }
}
