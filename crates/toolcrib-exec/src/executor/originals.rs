//! The run of an authorized call: of its tool, or of the first original tool of a view that is available.

use std::sync::Arc;

use toolcrib_model::{ErrorKind, ToolError, ToolResult};
use toolcrib_policy::{Authorized, Call};
use toolcrib_port::CallContext;

use super::Executor;
use crate::audit::CallRecorder;
use crate::flow::CallChain;

impl Executor {
    /// Runs a call. Of the originals of a view, the next one runs only if the one before did not: its source cannot be
    /// reached, or is not called for a while.
    pub(super) async fn run(
        self: &Arc<Self>,
        call: &Authorized<Call>,
        context: &CallContext,
        above: &CallChain,
        recorder: &mut CallRecorder,
    ) -> Result<ToolResult, ToolError> {
        if call.tool.view().is_none() {
            return self.invoke(call, call, context, above, recorder).await;
        }
        let mut originals = call.originals().into_iter().peekable();
        while let Some(original) = originals.next() {
            recorder.set_original(&original);
            let mut outcome = self.invoke(&original, call, context, above, recorder).await;
            if originals.peek().is_some() && is_unavailable(&outcome) {
                continue;
            }
            if let Ok(result) = &mut outcome {
                result.name = call.tool.name.to_string();
            }
            return outcome;
        }
        // The policy denies a view without an original.
        let message =
            format!("`{}` has no original tool; this is a fault in Toolcrib", call.tool.name.shown());
        Err(ToolError::new(ErrorKind::Internal, message))
    }
}

/// Returns true for a call that did not reach its tool because the source is down.
fn is_unavailable(outcome: &Result<ToolResult, ToolError>) -> bool {
    let error = match outcome {
        Ok(result) => result.error.as_ref(),
        Err(error) => Some(error),
    };
    error.is_some_and(|error| error.kind == ErrorKind::Unavailable)
}
