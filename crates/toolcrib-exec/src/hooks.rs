//! Checks of one's own.

use async_trait::async_trait;
use toolcrib_model::{ToolError, ToolResult};
use toolcrib_policy::Call;
use toolcrib_port::CallContext;

/// A check of one's own, before and after each call.
///
/// ```
/// use async_trait::async_trait;
/// use toolcrib_exec::Hook;
/// use toolcrib_model::{ErrorKind, ToolError};
/// use toolcrib_policy::Call;
/// use toolcrib_port::CallContext;
///
/// /// Nothing is written on weekends.
/// struct Weekdays;
///
/// #[async_trait]
/// impl Hook for Weekdays {
///     async fn before(&self, call: &Call, _context: &CallContext) -> Result<(), ToolError> {
///         let is_weekend = false;
///         if is_weekend && call.tool.side_effects().next().is_some() {
///             return Err(ToolError::new(ErrorKind::Denied, "nothing is written on weekends"));
///         }
///         Ok(())
///     }
/// }
/// ```
#[async_trait]
pub trait Hook: Send + Sync {
    /// Sees a call with its final arguments, after the policy has let it through or a person will be asked, and before
    /// anybody is asked and anything runs. An error is the result of the call. It is dropped with the call's own
    /// deadline.
    async fn before(&self, call: &Call, context: &CallContext) -> Result<(), ToolError> {
        let (_, _) = (call, context);
        Ok(())
    }

    /// Sees what came of a call that ran, before it is shortened, and may replace it.
    async fn after(&self, call: &Call, result: ToolResult, context: &CallContext) -> ToolResult {
        let (_, _) = (call, context);
        result
    }
}
