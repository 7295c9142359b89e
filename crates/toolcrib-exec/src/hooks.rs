//! Custom checks of calls and results.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::time::Instant;
use toolcrib_model::{ErrorKind, ToolError, ToolResult};
use toolcrib_policy::Call;
use toolcrib_port::{CallContext, ToolEngine};

use crate::invoke::access_of;
use crate::limits::MAX_HOOK_WAIT;
use crate::panic_guard::catch_panic;

/// A custom check before and after each call.
///
/// ```
/// use async_trait::async_trait;
/// use toolcrib_exec::Hook;
/// use toolcrib_model::{ErrorKind, ToolError};
/// use toolcrib_policy::Call;
/// use toolcrib_port::CallContext;
///
/// /// A hook that refuses tools with side effects on weekends.
/// struct Weekdays;
///
/// #[async_trait]
/// impl Hook for Weekdays {
///     async fn before(&self, call: &Call, _context: &CallContext) -> Result<(), ToolError> {
///         let is_weekend = false;
///         if is_weekend && !call.tool.traits().side_effects.is_empty() {
///             return Err(ToolError::new(ErrorKind::Denied, "nothing is written on weekends"));
///         }
///         Ok(())
///     }
/// }
/// ```
#[async_trait]
pub trait Hook: Send + Sync {
    /// Checks a call with its final arguments. It runs after the policy and before any request for approval, and again
    /// if a person has changed the arguments. An error is the result of the call. The future is dropped after
    /// [`MAX_HOOK_WAIT`], at the caller's deadline and if the caller gives up; the call does not run then.
    async fn before(&self, call: &Call, context: &CallContext) -> Result<(), ToolError> {
        let (_, _) = (call, context);
        Ok(())
    }

    /// Receives the result of a call that ran, before it is shortened, and may replace it. The future is dropped after
    /// [`MAX_HOOK_WAIT`]; the result is lost then.
    async fn after(&self, call: &Call, result: ToolResult, context: &CallContext) -> ToolResult {
        let (_, _) = (call, context);
        result
    }
}

/// Runs all hooks before a call.
pub(crate) async fn before(
    hooks: &[Arc<dyn Hook>],
    call: &Call,
    context: &CallContext,
) -> Result<(), ToolError> {
    let checks = async {
        for hook in hooks {
            let checked = catch_panic(hook.before(call, context)).await;
            checked.unwrap_or_else(|| Err(fault("a hook", &call.tool.name.shown())))?;
        }
        Ok(())
    };
    within_time(checks, call, context).await
}

/// Runs the engine's check of a call that needs approval.
pub(crate) async fn check(
    engine: &dyn ToolEngine,
    call: &Call,
    context: &CallContext,
) -> Result<(), ToolError> {
    let mut inner = context.clone();
    inner.access = access_of(call)?;
    let checks = async {
        let checked = catch_panic(engine.check(call, &inner)).await;
        checked.unwrap_or_else(|| Err(fault("the engine", &call.tool.name.shown())))
    };
    within_time(checks, call, context).await
}

async fn within_time(
    checks: impl Future<Output = Result<(), ToolError>>,
    call: &Call,
    context: &CallContext,
) -> Result<(), ToolError> {
    let end = Instant::now() + MAX_HOOK_WAIT;
    let end = context.extended_deadline().map_or(end, |deadline| deadline.min(end));
    let failed = |kind, problem: &str| {
        let message = format!("a check of `{}` {problem}", call.tool.name.shown());
        Err(ToolError::new(kind, message).with_hint("it did not run"))
    };
    tokio::select! {
        biased;
        () = context.cancel.cancelled() => failed(ErrorKind::Cancelled, "was cancelled by the caller"),
        checked = tokio::time::timeout_at(end, checks) => {
            checked.unwrap_or_else(|_| failed(ErrorKind::Timeout, "did not end in time"))
        }
    }
}

/// Runs all hooks on the result of a call.
pub(crate) async fn after(
    hooks: &[Arc<dyn Hook>],
    call: &Call,
    mut result: ToolResult,
    context: &CallContext,
) -> ToolResult {
    let checks = async {
        for hook in hooks {
            let checked = catch_panic(hook.after(call, result, context)).await;
            result = checked.unwrap_or_else(|| call.failed(fault("a hook", &call.tool.name.shown())));
        }
        result
    };
    tokio::time::timeout(MAX_HOOK_WAIT, checks).await.unwrap_or_else(|_| {
        let seconds = MAX_HOOK_WAIT.as_secs();
        let message = format!(
            "`{}` ran, and a check of its result did not end within {seconds} s",
            call.tool.name.shown()
        );
        let error = ToolError::new(ErrorKind::Internal, message);
        call.failed(error.with_hint("see what it did before you repeat it"))
    })
}

/// Returns the error for a panic in a hook, an engine or an approver.
pub(crate) fn fault(what: &str, tool: &str) -> ToolError {
    ToolError::new(
        ErrorKind::Internal,
        format!("{what} failed on `{tool}`; this is a fault in it, not in the call"),
    )
}
