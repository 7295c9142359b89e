//! Child processes: started without a shell, bounded, and never outliving this process.
//!
//! Each child leads a new process group. The group is killed when the child ends, when its handle is dropped, and when this
//! process ends in any way: a *watchdog*, a small `/bin/sh` that starts with the first child, reads the live groups from a
//! pipe and kills them when the pipe breaks.
//!
//! On Linux, descendants that leave the group (by `setsid`, or as a daemon) are killed too: `/proc` shows the variable
//! [`MARK_VARIABLE`] in their environment. A process escapes only if it leaves the group *and* removes the variable, or
//! runs as another user. On other systems, a process that leaves the group escapes. So does a child that is being started
//! at the moment of a `SIGKILL` to this process, in the fraction of a millisecond between its creation and its
//! registration; its standard input ends then.

mod command;
mod environment;

mod capture;
mod child;
mod exit;
mod proxy_environment;
mod sandbox;
mod streamed_run;

mod limits;
mod lines;
mod stderr;
mod stdin;

#[cfg(unix)]
mod descendants;
#[cfg(unix)]
mod group;
#[cfg(unix)]
mod start;
#[cfg(unix)]
mod watchdog;

#[cfg(not(unix))]
mod unsupported;
#[cfg(not(unix))]
use unsupported as start;

#[cfg(unix)]
#[cfg(test)]
mod tests;

pub use capture::{MAX_STDERR_BYTES, MAX_STDOUT_BYTES, Output, RunLimits, run};
pub use child::{Child, spawn};
pub use command::Command;
pub use environment::{DEPTH_VARIABLE, INHERITED_ENVIRONMENT, MARK_VARIABLE, depth, environment_names};
pub use exit::{DRAIN_GRACE, KILL_PATIENCE};
pub use limits::{ProcessLimits, cpu_time, is_out_of_cpu_time};
pub use lines::{LineLimited, MAX_LINE_BYTES, Overlong};
pub use sandbox::{
    LAUNCHER_ARGUMENT, NetworkWord, ProcessLimit, Sandbox, SandboxAccess, SandboxBackend, SandboxNetwork,
    SandboxPlace, SandboxProfile, SandboxSettings, SignalScope, UnlimitedWord, WidenedProfile, run_launcher,
};
pub use start::{find_program, is_same_file};
pub use stderr::{STDERR_LINE_BYTES, STDERR_TAIL_LINES, StderrTail};
pub use stdin::StdinWriter;
pub use streamed_run::{FollowedExit, Pipe, follow};

/// The standard output of a [`Child`]: bytes, of lines no longer than [`MAX_LINE_BYTES`].
pub type StdoutReader = LineLimited<tokio::process::ChildStdout>;
