//! Waiting that ends at the deadline or by cancellation.

use std::future::Future;

use tokio::time::Instant;
use toolcrib_port::CallContext;

use super::refusal::Refusal;

/// The deadline and the cancellation of a call that waits.
#[derive(Clone, Copy)]
pub(super) struct WaitLimit<'a> {
    pub(super) context: &'a CallContext,
    pub(super) deadline: Option<Instant>,
}

impl WaitLimit<'_> {
    /// Waits for a future. Cancellation takes precedence over a result at the same time: nothing has run yet, and
    /// nothing should run for a caller that has given up.
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
