//! Results that clients check against the `outputSchema` of their tool.

use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::Value;
use toolcrib_exec::Executor;
use toolcrib_model::{ResultNote, ToolCall, ToolResult};
use toolcrib_port::{CallContext, Catalogue, ResultStore, ToolCaller};
use toolcrib_results::MAX_CHECKED_RESULT_BYTES;

/// The text before a result without structured content whose call continues in the background.
const GOES_ON: &str = "[The call has not failed: it continues in the background.]";

/// The text before a part of a result that is too large for structured content.
const TOO_LARGE: &str =
    "[The call succeeded. Its result is too large to be sent whole; this is a part of it.]";

/// The text before a result that violates the schema of its tool.
const UNFIT: &str =
    "[The call succeeded. Its result does not fit the `outputSchema` of the tool; this is the result.]";

/// The structured content of a result, or the reason why it is missing. It accompanies the result of the call.
#[derive(Clone, Default)]
pub(crate) struct StructuredContent(Arc<Mutex<Option<Result<Value, &'static str>>>>);

/// The reasons why structured content is missing.
const REASONS: [&str; 3] = [GOES_ON, TOO_LARGE, UNFIT];

impl StructuredContent {
    /// Creates the structured content of a call of another process.
    pub(crate) fn of(structure: Result<Value, String>) -> Self {
        let known = |reason: String| REASONS.into_iter().find(|known| *known == reason).unwrap_or(UNFIT);
        Self(Arc::new(Mutex::new(Some(structure.map_err(known)))))
    }

    /// Takes the structured content of a call that has been answered.
    pub(crate) fn take(&self) -> Result<Value, &'static str> {
        // A call without a result continues in the background.
        self.0.lock().take().unwrap_or(Err(GOES_ON))
    }

    fn set(&self, structure: Result<Value, &'static str>) {
        *self.0.lock() = Some(structure);
    }
}

/// A caller for one call of a tool that is listed with an `outputSchema`. The result is shortened for models, also if
/// it is stored in the background, and its structured content is kept whole.
pub(crate) struct StructuredCaller {
    pub(crate) inner: Arc<dyn ToolCaller>,
    pub(crate) executor: Arc<Executor>,
    pub(crate) structure: StructuredContent,
}

#[async_trait]
impl ToolCaller for StructuredCaller {
    async fn call(&self, call: ToolCall, context: &CallContext) -> ToolResult {
        let whole = self.inner.call(call, &context.clone().with_full_results()).await;
        self.structure.set(structure_of(&whole));
        let tools = self.inner.catalogue().find_tools(&whole.name, context).unwrap_or_default();
        let mut shown = self.executor.shape(whole, tools.first(), context);
        if let Err(error) = self.executor.save_results().await {
            shown.note(ResultNote::Warning(error.message));
        }
        shown
    }

    fn catalogue(&self) -> &dyn Catalogue {
        self.inner.catalogue()
    }

    fn results(&self) -> &dyn ResultStore {
        self.inner.results()
    }
}

fn structure_of(result: &ToolResult) -> Result<Value, &'static str> {
    // Larger results are not checked.
    if result.is_preview() || result.result.to_string().len() > MAX_CHECKED_RESULT_BYTES {
        return Err(TOO_LARGE);
    }
    let Value::Object(map) = &result.result else { return Err(UNFIT) };
    let structure = match (map.get("structuredContent"), map.get("content")) {
        (Some(structure), Some(Value::Array(_))) if map.len() == 2 => structure,
        _ => &result.result,
    };
    if result.output_violations().next().is_some() || !structure.is_object() {
        Err(UNFIT)
    } else {
        Ok(structure.clone())
    }
}
