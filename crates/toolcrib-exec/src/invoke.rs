//! One invocation, ended in every case.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures::FutureExt;
use tokio::time::Instant;
use toolcrib_model::{ErrorKind, ToolError, ToolResult};
use toolcrib_policy::{Authorized, Call};
use toolcrib_port::{CallContext, ToolEngine};

/// Runs the call until it ends, the deadline passes or the caller gives up. An outer deadline that is nearer holds.
pub(crate) async fn invoke(
    engine: &dyn ToolEngine,
    call: Authorized<Call>,
    mut context: CallContext,
    deadline: Option<Duration>,
) -> ToolResult {
    let started = Instant::now();
    let own = deadline.map(|duration| started + duration);
    context.deadline = match (own, context.deadline) {
        (Some(own), Some(outer)) => Some(own.min(outer)),
        (own, outer) => own.or(outer),
    };
    let stub: Call = Call::clone(&call);
    let tool = stub.tool.name.dotted();
    let cancel = context.cancel.clone();
    let overdue = context.deadline;
    let running = AssertUnwindSafe(engine.invoke(call, &context)).catch_unwind();
    tokio::select! {
        // What is there already counts, even when the deadline has just passed.
        biased;
        outcome = running => outcome.unwrap_or_else(|_| {
            let message = format!("the engine of `{tool}` panicked; this is a fault in it, not in the call");
            stub.error(ErrorKind::Internal, message)
        }),
        () = cancel.cancelled() => stub.error(ErrorKind::Cancelled, format!("the call of `{tool}` was given up")),
        () = passed(overdue) => {
            // An outer deadline may have been the nearer one.
            let seconds = overdue.map(|overdue| overdue - started).unwrap_or_default().as_secs_f64();
            let message = format!("`{tool}` did not end within its deadline of {seconds} s");
            let hint = if stub.tool.is_idempotent() || stub.tool.risk() == toolcrib_model::Risk::Low {
                "try again, or ask for less"
            } else {
                "whether it took effect is not known: check before you repeat it"
            };
            stub.failed(ToolError::new(ErrorKind::Timeout, message).with_hint(hint))
        }
    }
}

async fn passed(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
