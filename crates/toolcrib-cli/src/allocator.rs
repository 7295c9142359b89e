//! The settings of the allocator, so that a process gives freed memory back.
//!
//! `toolcrib` allocates by mimalloc on Linux, which by default takes large blocks at the start, and returns memory late. Other
//! programs with this crate may allocate by glibc. It gives threads separate arenas, and each retains the most that was
//! ever in use there: calls that need much memory for a short time run on threads that come and go, so a process that
//! serves for long would retain a multiple of what it needs.

/// The variables of mimalloc, and those of glibc.
///
/// glibc returns a block as large as the threshold when it is freed. By default the threshold grows with the blocks that are
/// freed, up to 32 MiB, so that large answers would stay in the arenas, and with them what lies between.
#[cfg(target_os = "linux")]
const SETTINGS: [(&str, &str); 4] = [
    ("MIMALLOC_ARENA_EAGER_COMMIT", "0"),
    ("MIMALLOC_PURGE_DELAY", "0"),
    ("MALLOC_ARENA_MAX", "2"),
    ("MALLOC_MMAP_THRESHOLD_", "262144"),
];

/// Replaces this process by the same program with these settings, since an allocator reads them before the program starts.
/// If one of them is already set, or the program cannot be started, this process continues.
#[cfg(target_os = "linux")]
pub(crate) fn configure() {
    use std::os::unix::process::CommandExt as _;
    let mut arguments = std::env::args_os();
    let (Some(name), Ok(program)) = (arguments.next(), std::env::current_exe()) else { return };
    if SETTINGS.iter().all(|(variable, _)| std::env::var_os(variable).is_none()) {
        // It only returns if it failed.
        let _failed = std::process::Command::new(program).arg0(name).args(arguments).envs(SETTINGS).exec();
    }
}

/// Does nothing: the allocators of other systems have no such settings.
#[cfg(not(target_os = "linux"))]
pub(crate) fn configure() {}
