//! Child processes: started without a shell, bounded, and gone when we are.
//!
//! A child gets a process group of its own. The group is killed when the child ends, when its handle is dropped, and
//! when this process ends in any way: a *watchdog*, one small `/bin/sh` that is started with the first child, reads
//! the groups that live from a pipe, and kills them when the pipe breaks.
//!
//! Descendants that leave the group (`setsid`, or a server that puts itself in the background) are ended too, where there
//! is `/proc`, that is on Linux: they are found by a variable in their environment, [`MARK_VARIABLE`]. What escapes there
//! has left the group *and* taken the variable out of its environment, or runs as another user. Elsewhere whatever left
//! the group escapes, and so does a child whose start is cut in two by a `SIGKILL` to this process, in the moment between
//! its creation and its registration, below a millisecond; its standard input ends then.

mod command;
mod environment;

mod capture;
mod child;
mod exit;
mod follow;

mod lines;
mod stderr;
mod stdin;

#[cfg(unix)]
mod group;
#[cfg(unix)]
mod mark;
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
pub use child::{Child, KILL_PATIENCE, spawn};
pub use command::{Command, DEFAULT_SEARCH_PATH};
pub use environment::{DEPTH_VARIABLE, INHERITED_ENVIRONMENT, MARK_VARIABLE, depth, environment_names};
pub use follow::{DRAIN_GRACE, Ended, Pipe, follow};
pub use lines::{LineLimited, MAX_LINE_BYTES, Overlong};
pub use start::{find_program, is_same_file};
pub use stderr::{STDERR_LINE_BYTES, STDERR_TAIL_LINES, StderrTail};
pub use stdin::StdinWriter;

/// The standard output of a [`Child`]: bytes, of lines no longer than [`MAX_LINE_BYTES`].
pub type StdoutReader = LineLimited<tokio::process::ChildStdout>;
