//! How long a call waits before it runs.

use std::future::Future;

use tokio::time::Instant;
use toolcrib_port::CallContext;

use super::refusal::Refusal;

/// Until its deadline, or until the caller gives up.
#[derive(Clone, Copy)]
pub(super) struct Patience<'a> {
    pub(super) context: &'a CallContext,
    pub(super) deadline: Option<Instant>,
}

impl Patience<'_> {
    /// Waits. What comes in the moment in which the call is given up comes too late: nothing has run yet, and nothing
    /// should run for a caller who is gone.
    pub(super) async fn wait<T>(self, what: impl Future<Output = T>) -> Result<T, Refusal> {
        tokio::select! {
            biased;
            () = self.context.cancel.cancelled() => Err(Refusal::Cancelled),
            () = passed(self.deadline) => Err(Refusal::Overdue),
            outcome = what => Ok(outcome),
        }
    }
}

async fn passed(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
