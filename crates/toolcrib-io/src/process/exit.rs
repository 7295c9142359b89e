//! The end of a child, as something to wait for.

use std::process::ExitStatus;

use tokio::sync::watch;

use crate::Error;

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
