//! A replacement for `start` on platforms without process groups: nothing can be started.

use std::path::PathBuf;
use std::process::{ChildStderr, ChildStdin, ChildStdout};

use super::command::Command;
use super::exit::Exit;
use crate::Error;

/// A process group, which this platform does not have.
#[derive(Debug)]
pub(super) struct UnsupportedGroup {
    pub(super) exit: Exit,
}

pub(super) use UnsupportedGroup as Group;

impl UnsupportedGroup {
    pub(super) fn id(&self) -> u32 {
        0
    }

    pub(super) fn terminate(&self) {}

    pub(super) fn kill(&self) {}
}

/// A running child, which this platform does not have.
pub(super) struct UnsupportedProcess {
    pub(super) group: Group,
    pub(super) stdin: Option<ChildStdin>,
    pub(super) stdout: ChildStdout,
    pub(super) stderr: ChildStderr,
}

pub(super) use UnsupportedProcess as StartedProcess;

/// Returns an error.
pub(super) fn start(_command: &Command, _feed: bool) -> Result<UnsupportedProcess, Error> {
    Err(Error::Unsupported { operation: "starting a child process" })
}

/// Returns true if two paths are equal. Links are not compared on this platform.
pub fn is_same_file(one: &std::path::Path, other: &std::path::Path) -> bool {
    one == other
}

/// Returns an error.
pub fn find_program(_command: &Command) -> Result<PathBuf, Error> {
    Err(Error::Unsupported { operation: "looking a program up" })
}
