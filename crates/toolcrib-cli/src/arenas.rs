//! A bound on what the allocator keeps of freed memory.
//!
//! The allocator of glibc gives threads arenas of their own, up to eight for each processor, and each keeps the most that
//! was ever in use there. Calls that need much memory for a short time, as a query that sorts, run on threads that come
//! and go, so that a process which serves for long would keep a multiple of what it needs. The number of arenas can only be
//! set before a program starts.

use crate::arguments::Command;

/// The variable by which glibc is told the number of arenas.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const VARIABLE: &str = "MALLOC_ARENA_MAX";

/// The number of arenas in a process that runs for long.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const ARENAS: &str = "2";

/// Starts this program again in its own place with fewer arenas, for commands that run for long. Where the variable is set
/// already, or the program cannot be started again, it goes on as it is.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn limit(command: &Command) {
    use std::os::unix::process::CommandExt as _;
    let is_long = matches!(command, Command::Serve(_) | Command::Run(_));
    let mut arguments = std::env::args_os();
    let (Some(name), Ok(program)) = (arguments.next(), std::env::current_exe()) else { return };
    if is_long && std::env::var_os(VARIABLE).is_none() {
        // It only returns where it failed.
        let _failed =
            std::process::Command::new(program).arg0(name).args(arguments).env(VARIABLE, ARENAS).exec();
    }
}

/// Does nothing: other allocators have no such setting.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn limit(_command: &Command) {}
