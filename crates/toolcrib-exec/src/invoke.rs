//! One attempt at a call, with its deadline and cancellation.

use std::sync::Arc;

use tokio::time::Instant;
use toolcrib_model::{ErrorKind, ToolError, ToolResult};
use toolcrib_policy::{Access, Authorized, Call};
use toolcrib_port::{CallContext, ToolEngine};

use crate::heartbeat::Heartbeat;
use crate::panic_guard::catch_panic;

/// Runs the call until it ends, its deadline passes or the caller gives up. The deadline is that of the heartbeat, else
/// that of the context. `started` is the time at which the first attempt began.
pub(crate) async fn invoke(
    engine: &dyn ToolEngine,
    call: &Authorized<Call>,
    context: CallContext,
    heartbeat: Option<Arc<Heartbeat>>,
    started: Instant,
) -> ToolResult {
    let passed = async {
        match (&heartbeat, context.deadline) {
            (Some(heartbeat), _) => heartbeat.passed().await,
            (None, Some(deadline)) => context.phase.sleep_until(deadline).await,
            (None, None) => std::future::pending().await,
        }
    };
    tokio::select! {
        // A completed result counts, even if the deadline has just passed.
        biased;
        outcome = catch_panic(engine.invoke(call, &context)) => outcome.unwrap_or_else(|| {
            let tool = call.tool.name.shown();
            let message = format!("the engine of `{tool}` panicked; this is a fault in it, not in the call");
            call.error(ErrorKind::Internal, message)
        }),
        () = context.cancel.cancelled() => {
            call.error(ErrorKind::Cancelled, format!("the call of `{}` was cancelled", call.tool.name.shown()))
        }
        () = passed => {
            let deadline = heartbeat.as_ref().map(|heartbeat| heartbeat.deadline()).or(context.deadline);
            call.failed(late(call, deadline, started))
        }
    }
}

/// Returns the access that the tool of a call declares, for the context of its engine.
pub(crate) fn access_of(call: &Call) -> Result<Access, ToolError> {
    Access::of_tool(&call.tool).map_err(|error| {
        let message = format!("`{}` has an invalid `access` declaration: {error}", call.tool.name.dotted());
        ToolError::new(ErrorKind::Denied, message)
            .with_hint("use another tool; only its author can correct its `access`")
    })
}

/// Returns the reason why a call should not start: its caller has given up, or its time ran out during the approval.
pub(crate) fn too_late(
    call: &Call,
    context: &CallContext,
    deadline: Option<Instant>,
    now: Instant,
) -> Option<ToolError> {
    let (kind, problem) = if context.cancel.is_cancelled() {
        (ErrorKind::Cancelled, "was cancelled before it ran")
    } else if deadline.is_some_and(|deadline| deadline <= now) {
        (ErrorKind::Timeout, "was not yet running when its deadline passed")
    } else {
        return None;
    };
    let message = format!("the call of `{}` {problem}", call.tool.name.shown());
    Some(ToolError::new(kind, message).with_hint("it did not run"))
}

fn late(call: &Call, deadline: Option<Instant>, started: Instant) -> ToolError {
    // The deadline of an outer call may have been the earlier one.
    let seconds = deadline.map(|deadline| deadline - started).unwrap_or_default().as_secs_f64();
    let message = format!("`{}` did not end within its deadline of {seconds} s", call.tool.name.shown());
    let may_repeat = call.tool.traits().may_repeat();
    let hint = if may_repeat {
        "try again, or ask for less"
    } else {
        "it may have taken effect: check before you repeat it"
    };
    ToolError::new(ErrorKind::Timeout, message).with_hint(hint).with_retryable(may_repeat)
}
