//! A bound on what the allocator keeps of freed memory.
//!
//! The allocator of glibc gives threads arenas of their own, up to eight for each processor, and each keeps the most that
//! was ever in use there. Calls that need much memory for a short time, as a query that sorts, run on threads that come
//! and go, so that a process which serves for long would keep a multiple of what it needs. The allocator can only be set
//! before a program starts.

use crate::arguments::Command;

/// The variables by which glibc is set, for a process that runs for long.
///
/// A block as large as the threshold is given back to the system when it is freed. By default the threshold grows with the
/// blocks that are freed, up to 32 MiB, so that large answers would stay in the arenas, and with them what lies between.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const SETTINGS: [(&str, &str); 2] = [("MALLOC_ARENA_MAX", "2"), ("MALLOC_MMAP_THRESHOLD_", "262144")];

/// Replaces this process by the same program with these settings, for long-running commands. If one of them is already set,
/// or the program cannot be started, this process continues.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn limit(command: &Command) {
    use std::os::unix::process::CommandExt as _;
    let is_long =
        matches!(command, Command::Serve(_) | Command::Console(_) | Command::Run(_) | Command::Chat(_));
    let mut arguments = std::env::args_os();
    let (Some(name), Ok(program)) = (arguments.next(), std::env::current_exe()) else { return };
    let is_set = SETTINGS.iter().any(|(variable, _)| std::env::var_os(variable).is_some());
    if is_long && !is_set {
        // It only returns where it failed.
        let _failed = std::process::Command::new(program).arg0(name).args(arguments).envs(SETTINGS).exec();
    }
}

/// Does nothing: other allocators have no such setting.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn limit(_command: &Command) {}
