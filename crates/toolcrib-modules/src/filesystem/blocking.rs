//! Work on a blocking thread that ends with the call it is for.

use std::panic::resume_unwind;

use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;
use toolcrib_model::{ErrorKind, ToolError};
use toolcrib_policy::Access;
use toolcrib_sdk::CallContext;

/// Tells blocking work that nobody waits for it any more.
pub(crate) struct Stop(CancellationToken);

impl Stop {
    #[cfg(test)]
    pub(super) fn on(token: CancellationToken) -> Self {
        Self(token)
    }

    /// An error once the call has been given up. To be asked between two steps of anything that may take long.
    pub(crate) fn check(&self) -> Result<(), ToolError> {
        if self.0.is_cancelled() { Err(given_up()) } else { Ok(()) }
    }
}

/// Runs the work on a blocking thread. It is told to stop when the caller cancels and when this future is dropped;
/// work that has not begun by then does not begin.
pub(crate) async fn blocking<T, W>(context: &CallContext, work: W) -> Result<T, ToolError>
where
    T: Send + 'static,
    W: FnOnce(&Stop) -> Result<T, ToolError> + Send + 'static,
{
    let token = context.cancel.child_token();
    let stop = Stop(token.clone());
    let _cancel_when_dropped = token.drop_guard();
    let running = spawn_blocking(Access::carry(move || {
        stop.check()?;
        work(&stop)
    }));
    match running.await {
        Ok(result) => result,
        // A panic goes on here, so that the executor reports it as one of this call.
        Err(error) => match error.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            Err(_) => Err(given_up()),
        },
    }
}

fn given_up() -> ToolError {
    ToolError::new(ErrorKind::Cancelled, "the call was given up before it was done")
}
