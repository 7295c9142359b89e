//! Custom checks of calls and results.

pub(crate) mod effects;
mod result_verdict;
mod verdict;

use async_trait::async_trait;
use tokio::time::Instant;
use toolcrib_model::{ErrorKind, Tool, ToolError, ToolResult};
use toolcrib_policy::Call;
use toolcrib_port::{CallContext, ToolEngine};

use crate::invoke::access_of;
use crate::limits::MAX_HOOK_WAIT;
use crate::panic_guard::catch_panic;

pub use result_verdict::ResultVerdict;
pub(crate) use result_verdict::after;
pub use verdict::{HookVerdict, MAX_REASON_CHARS};
pub(crate) use verdict::{apply, record_failure};

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

    /// Returns false for a tool whose calls the hook ignores. By default it sees all calls.
    fn applies_to(&self, tool: &Tool) -> bool {
        let _ = tool;
        true
    }

    /// Returns true if a call continues, and keeps its result, when this hook returns an error or panics. By default the
    /// call fails.
    fn fails_open(&self) -> bool {
        false
    }

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

    /// Checks the result of a call that ran, before it is shortened. The known secrets have been removed from it, and a
    /// hook sees the changes of the hooks before it. The future is dropped after [`MAX_HOOK_WAIT`]; the result is lost
    /// then.
    ///
    /// # Errors
    ///
    /// Returns an error if the hook itself fails. The reader gets it instead of the result, unless the hook
    /// [fails open](Self::fails_open).
    async fn after(
        &self,
        call: &Call,
        result: &ToolResult,
        context: &CallContext,
    ) -> Result<ResultVerdict, ToolError> {
        let (_, _, _) = (call, result, context);
        Ok(ResultVerdict::Keep { note: None })
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
