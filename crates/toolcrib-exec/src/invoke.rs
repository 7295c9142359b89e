//! One attempt, ended in every case.

use std::sync::Arc;

use tokio::time::Instant;
use toolcrib_model::{ErrorKind, Risk, ToolError, ToolResult};
use toolcrib_policy::{Access, Authorized, Call};
use toolcrib_port::{CallContext, ToolEngine};

use crate::caught::caught;
use crate::heartbeat::Heartbeat;

/// Runs the call until it ends, its deadline passes or the caller gives up. The deadline is that of the heartbeat, else that
/// of the context. `started` is when the time of the call began, all attempts included.
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
        // What is there already counts, even when the deadline has just passed.
        biased;
        outcome = caught(engine.invoke(call, &context)) => outcome.unwrap_or_else(|| {
            let tool = call.tool.name.shown();
            let message = format!("the engine of `{tool}` panicked; this is a fault in it, not in the call");
            call.error(ErrorKind::Internal, message)
        }),
        () = context.cancel.cancelled() => {
            call.error(ErrorKind::Cancelled, format!("the call of `{}` was given up", call.tool.name.shown()))
        }
        () = passed => {
            let deadline = heartbeat.as_ref().map(|heartbeat| heartbeat.deadline()).or(context.deadline);
            call.failed(late(call, deadline, started))
        }
    }
}

/// Returns what the tool of a call declares that it reaches, for the scope of its engine.
pub(crate) fn access_of(call: &Call) -> Result<Access, ToolError> {
    Access::of_tool(&call.tool).map_err(|error| {
        let message = format!("`{}` says wrongly what it reaches: {error}", call.tool.name.dotted());
        ToolError::new(ErrorKind::Denied, message)
            .with_hint("use another tool; only its author can correct its `access`")
    })
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
    let message = format!("the call of `{}` {problem}", call.tool.name.shown());
    Some(ToolError::new(kind, message).with_hint("it did not run"))
}

fn late(call: &Call, deadline: Option<Instant>, started: Instant) -> ToolError {
    // An outer deadline may have been the nearer one.
    let seconds = deadline.map(|deadline| deadline - started).unwrap_or_default().as_secs_f64();
    let message = format!("`{}` did not end within its deadline of {seconds} s", call.tool.name.shown());
    let may_repeat = call.tool.is_idempotent() || call.tool.risk() == Risk::Low;
    let hint = if may_repeat {
        "try again, or ask for less"
    } else {
        "whether it took effect is not known: check before you repeat it"
    };
    ToolError::new(ErrorKind::Timeout, message).with_hint(hint).with_retryable(may_repeat)
}
