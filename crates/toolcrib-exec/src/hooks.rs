//! Custom checks of calls and results.

mod verdict;

use std::sync::Arc;

use async_trait::async_trait;
use tokio::time::Instant;
use toolcrib_model::{ErrorKind, ToolError, ToolResult};
use toolcrib_policy::Call;
use toolcrib_port::{CallContext, ToolEngine};

use crate::invoke::access_of;
use crate::limits::MAX_HOOK_WAIT;
use crate::panic_guard::catch_panic;

pub(crate) use verdict::{HookEffects, apply};
pub use verdict::{HookVerdict, MAX_REASON_CHARS};

/// A custom check before and after each call.
///
/// ```
/// use async_trait::async_trait;
/// use toolcrib_exec::{Hook, HookVerdict};
/// use toolcrib_model::ToolError;
/// use toolcrib_policy::Call;
/// use toolcrib_port::CallContext;
///
/// /// A hook that refuses tools with side effects on weekends.
/// struct Weekdays;
///
/// #[async_trait]
/// impl Hook for Weekdays {
///     fn name(&self) -> &str {
///         "weekdays"
///     }
///
///     async fn before(&self, call: &Call, _context: &CallContext) -> Result<HookVerdict, ToolError> {
///         let is_weekend = false;
///         if is_weekend && !call.tool.traits().side_effects.is_empty() {
///             return Ok(HookVerdict::Deny { reason: "nothing is written on weekends".to_owned() });
///         }
///         Ok(HookVerdict::Allow)
///     }
/// }
/// ```
#[async_trait]
pub trait Hook: Send + Sync {
    /// Returns the name in records, in errors, and in questions to a person.
    fn name(&self) -> &str;

    /// Checks a call with its final arguments. It runs after the policy and before any request for approval, and again
    /// if a person has changed the arguments; a hook sees the changes of the hooks before it. The future is dropped
    /// after [`MAX_HOOK_WAIT`], at the caller's deadline and if the caller gives up; the call does not run then.
    ///
    /// # Errors
    ///
    /// Returns an error if the hook itself fails. It is the result of the call, which does not run.
    async fn before(&self, call: &Call, context: &CallContext) -> Result<HookVerdict, ToolError> {
        let (_, _) = (call, context);
        Ok(HookVerdict::Allow)
    }

    /// Receives the result of a call that ran, before it is shortened, and may replace it. The future is dropped after
    /// [`MAX_HOOK_WAIT`]; the result is lost then.
    async fn after(&self, call: &Call, result: ToolResult, context: &CallContext) -> ToolResult {
        let (_, _) = (call, context);
        result
    }
}

/// Runs one hook before a call.
pub(crate) async fn before(
    hook: &dyn Hook,
    call: &Call,
    context: &CallContext,
) -> Result<HookVerdict, ToolError> {
    let checked = catch_panic(hook.before(call, context)).await;
    checked.unwrap_or_else(|| Err(hook_fault(hook, call)))
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
    within_time(checks, &call.tool.name.shown(), context).await
}

/// Runs the checks of a call of `tool` within their time.
pub(crate) async fn within_time(
    checks: impl Future<Output = Result<(), ToolError>>,
    tool: &str,
    context: &CallContext,
) -> Result<(), ToolError> {
    let end = Instant::now() + MAX_HOOK_WAIT;
    let end = context.extended_deadline().map_or(end, |deadline| deadline.min(end));
    let failed = |kind, problem: &str| {
        let message = format!("a check of `{tool}` {problem}");
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
            result = checked.unwrap_or_else(|| call.failed(hook_fault(hook.as_ref(), call)));
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

fn hook_fault(hook: &dyn Hook, call: &Call) -> ToolError {
    fault(&format!("the hook `{}`", hook.name()), &call.tool.name.shown())
}

/// Returns the error for a panic in a hook, an engine or an approver.
pub(crate) fn fault(what: &str, tool: &str) -> ToolError {
    ToolError::new(
        ErrorKind::Internal,
        format!("{what} failed on `{tool}`; this is a fault in it, not in the call"),
    )
}
