//! The allocator of the program.
//!
//! It is mimalloc on Linux. The allocator of glibc gives threads separate arenas, and each retains the most that was ever in
//! use there: a process that serves for long would retain a multiple of what it needs, since calls that need much memory for
//! a short time run on threads that come and go. The allocator of musl, in static programs, has one lock for all threads.

use crate::arguments::Command;

#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The settings for a process that runs for long: it takes memory from the system when it needs it, and returns it at once.
/// By default, mimalloc takes large blocks at the start, and returns memory late.
#[cfg(target_os = "linux")]
const SETTINGS: [(&str, &str); 2] = [("MIMALLOC_ARENA_EAGER_COMMIT", "0"), ("MIMALLOC_PURGE_DELAY", "0")];

/// Replaces this process by the same program with these settings, for long-running commands: mimalloc reads them before the
/// program starts. If one of them is already set, or the program cannot be started, this process continues.
#[cfg(target_os = "linux")]
pub(crate) fn configure(command: &Command) {
    use std::os::unix::process::CommandExt as _;
    let is_long =
        matches!(command, Command::Serve(_) | Command::Console(_) | Command::Run(_) | Command::Chat(_));
    let mut arguments = std::env::args_os();
    let (Some(name), Ok(program)) = (arguments.next(), std::env::current_exe()) else { return };
    let is_set = SETTINGS.iter().any(|(variable, _)| std::env::var_os(variable).is_some());
    if is_long && !is_set {
        // It only returns if it failed.
        let _failed = std::process::Command::new(program).arg0(name).args(arguments).envs(SETTINGS).exec();
    }
}

/// Does nothing: the allocators of other systems have no such settings.
#[cfg(not(target_os = "linux"))]
pub(crate) fn configure(_command: &Command) {}
