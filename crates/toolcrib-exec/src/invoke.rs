//! One attempt, ended in every case.

use tokio::time::Instant;
use toolcrib_model::{ErrorKind, Risk, ToolError, ToolResult};
use toolcrib_policy::{Authorized, Call};
use toolcrib_port::{CallContext, ToolEngine};

use crate::caught::caught;

/// Runs the call until it ends, the deadline of the context passes or the caller gives up. `started` is when the time of
/// the call began, all attempts included.
pub(crate) async fn invoke(
    engine: &dyn ToolEngine,
    call: &Authorized<Call>,
    context: CallContext,
    started: Instant,
) -> ToolResult {
    tokio::select! {
        // What is there already counts, even when the deadline has just passed.
        biased;
        outcome = caught(engine.invoke(call, &context)) => outcome.unwrap_or_else(|| {
            let tool = call.tool.name.dotted();
            let message = format!("the engine of `{tool}` panicked; this is a fault in it, not in the call");
            call.error(ErrorKind::Internal, message)
        }),
        () = context.cancel.cancelled() => {
            call.error(ErrorKind::Cancelled, format!("the call of `{}` was given up", call.tool.name.dotted()))
        }
        () = passed(context.deadline) => call.failed(late(call, &context, started)),
    }
}

/// Why a call should not begin to run: its caller gave up, or its time is over, while somebody was asked.
pub(crate) fn too_late(
    call: &Call,
    context: &CallContext,
    deadline: Option<Instant>,
    now: Instant,
) -> Option<ToolError> {
    let (kind, problem) = if context.cancel.is_cancelled() {
        (ErrorKind::Cancelled, "was given up before it ran")
    } else if deadline.is_some_and(|deadline| deadline <= now) {
        (ErrorKind::Timeout, "was not yet running when its deadline passed")
    } else {
        return None;
    };
    let message = format!("the call of `{}` {problem}", call.tool.name.dotted());
    Some(ToolError::new(kind, message).with_hint("it did not run"))
}

fn late(call: &Call, context: &CallContext, started: Instant) -> ToolError {
    // An outer deadline may have been the nearer one.
    let seconds = context.deadline.map(|deadline| deadline - started).unwrap_or_default().as_secs_f64();
    let message = format!("`{}` did not end within its deadline of {seconds} s", call.tool.name.dotted());
    let may_repeat = call.tool.is_idempotent() || call.tool.risk() == Risk::Low;
    let hint = if may_repeat {
        "try again, or ask for less"
    } else {
        "whether it took effect is not known: check before you repeat it"
    };
    ToolError::new(ErrorKind::Timeout, message).with_hint(hint).with_retryable(may_repeat)
}

async fn passed(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
