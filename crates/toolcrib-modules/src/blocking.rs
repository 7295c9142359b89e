//! Cancellable work on a blocking thread.

use std::panic::resume_unwind;

use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;
use toolcrib_model::{ErrorKind, ToolError};
use toolcrib_sdk::CallContext;

/// Tells blocking work that its call was cancelled.
pub(crate) struct Cancellation(CancellationToken);

impl Cancellation {
    #[cfg(test)]
    pub(crate) fn on(token: CancellationToken) -> Self {
        Self(token)
    }

    /// Returns an error once the call was cancelled. Work that may take long calls it between its steps.
    pub(crate) fn check(&self) -> Result<(), ToolError> {
        if self.0.is_cancelled() { Err(given_up()) } else { Ok(()) }
    }
}

/// Runs the work on a blocking thread. The work is cancelled with the call, and when this future is dropped. Work that
/// has not begun by then does not begin.
pub(crate) async fn blocking<T, W>(context: &CallContext, work: W) -> Result<T, ToolError>
where
    T: Send + 'static,
    W: FnOnce(&Cancellation) -> Result<T, ToolError> + Send + 'static,
{
    let token = context.cancel.child_token();
    let stop = Cancellation(token.clone());
    let _cancel_when_dropped = token.drop_guard();
    let running = spawn_blocking(move || {
        stop.check()?;
        work(&stop)
    });
    match running.await {
        Ok(result) => result,
        // Resume a panic here, so that the executor reports it for this call.
        Err(error) => match error.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            Err(_) => Err(given_up()),
        },
    }
}

fn given_up() -> ToolError {
    ToolError::new(ErrorKind::Cancelled, "the call was cancelled before it was done")
}
