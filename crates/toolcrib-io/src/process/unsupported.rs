//! Stands in for `start` where there are no process groups: nothing can be started.

use std::path::PathBuf;
use std::process::{ChildStderr, ChildStdin, ChildStdout};

use super::command::Command;
use super::exit::Exit;
use crate::Error;

/// A process group; there are none on this platform.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) exit: Exit,
}

impl Group {
    pub(super) fn id(&self) -> u32 {
        0
    }

    pub(super) fn terminate(&self) {}

    pub(super) fn kill(&self) {}
}

/// A child that runs; there are none on this platform.
pub(super) struct Started {
    pub(super) group: Group,
    pub(super) stdin: Option<ChildStdin>,
    pub(super) stdout: ChildStdout,
    pub(super) stderr: ChildStderr,
}

/// Refuses.
pub(super) fn start(_command: &Command, _feed: bool) -> Result<Started, Error> {
    Err(Error::Unsupported { operation: "starting a child process" })
}

/// Returns whether two paths are the same; other systems have no links.
pub fn is_same_file(one: &std::path::Path, other: &std::path::Path) -> bool {
    one == other
}

/// Refuses.
pub fn find_program(_command: &Command) -> Result<PathBuf, Error> {
    Err(Error::Unsupported { operation: "looking a program up" })
}
