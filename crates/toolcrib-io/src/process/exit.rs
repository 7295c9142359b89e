//! The end of a child, as something to wait for.

use std::process::ExitStatus;
use std::time::Duration;

use tokio::sync::watch;

use crate::Error;

/// The maximum time for a killed child to end. Only the system can hold it longer, for example on a hanging file system.
pub const KILL_PATIENCE: Duration = Duration::from_secs(5);

/// The maximum time that the pipes may stay open after the child has ended. Its group is dead by then and reading the rest
/// takes no time. Only a process that left the group can hold a pipe longer.
pub const DRAIN_GRACE: Duration = Duration::from_secs(1);

/// The exit status of a child, available once it has ended.
#[derive(Clone, Debug)]
pub(super) struct Exit {
    pub(super) program: String,
    pub(super) status: watch::Receiver<Option<ExitStatus>>,
}

impl Exit {
    /// Waits for the end. It does not depend on any pipe.
    pub(super) async fn wait(mut self) -> Result<ExitStatus, Error> {
        let status = self.status.wait_for(Option::is_some).await.ok().and_then(|status| *status);
        status.ok_or(Error::StatusLost { program: self.program })
    }

    /// Returns true if the child has ended.
    pub(super) fn has_ended(&self) -> bool {
        self.status.borrow().is_some() || self.status.has_changed().is_err()
    }
}
