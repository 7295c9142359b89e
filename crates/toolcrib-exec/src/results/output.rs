//! Whether a result is what its tool said it would be.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use serde_json::Value;
use toolcrib_model::Tool;
use toolcrib_schema::CompiledSchema;

use super::limits::MAX_CHECKED_RESULT_BYTES;
use super::measure::json_size;

/// The most compiled schemas that are kept; the oldest go first.
const MAX_SCHEMAS: usize = 256;

/// The schemas of results, each compiled when a result is first checked by it.
#[derive(Default)]
pub(super) struct OutputSchemas {
    /// By the tool as the registry holds it: a refresh that changes nothing leaves it there.
    known: Mutex<VecDeque<(Weak<Tool>, Compiled)>>,
}

/// `None` of a schema that does not compile.
type Compiled = Option<Arc<CompiledSchema>>;

impl OutputSchemas {
    /// What is wrong with a result, by the schema that its tool declares for it; nothing when it declares none, or one that
    /// does not compile.
    pub(super) fn violations(&self, tool: &Arc<Tool>, result: &Value) -> Vec<Value> {
        let declares = tool.output_parameters.as_object().is_some_and(|schema| !schema.is_empty());
        if !declares || json_size(result, MAX_CHECKED_RESULT_BYTES).is_none() {
            return Vec::new();
        }
        // The schema of an MCP tool is about the structure; other content may stand beside it.
        let structure = result.get("structuredContent").filter(|_| result.get("content").is_some());
        let result = structure.unwrap_or(result);
        let Some(schema) = self.compiled(tool) else { return Vec::new() };
        if schema.accepts(result) {
            return Vec::new();
        }
        let Err(violations) = schema.validate(result) else { return Vec::new() };
        violations.iter().map(|violation| violation.message.as_str().into()).collect()
    }

    fn compiled(&self, tool: &Arc<Tool>) -> Compiled {
        let weak = Arc::downgrade(tool);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        // A tool that is gone cannot be taken for this one: its place in memory is not used again while it is listed.
        if let Some((_, schema)) = known.iter().find(|(other, _)| other.ptr_eq(&weak)) {
            return schema.clone();
        }
        // Compiling under the lock, so that calls that run at once compile it once.
        let schema = CompiledSchema::compile(&tool.output_parameters).ok().map(Arc::new);
        known.retain(|(other, _)| other.strong_count() > 0);
        if known.len() == MAX_SCHEMAS {
            known.pop_front();
        }
        known.push_back((weak, schema.clone()));
        schema
    }
}
