//! Validation of results against the output schemas of their tools.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use serde_json::Value;
use toolcrib_model::Tool;
use toolcrib_schema::CompiledSchema;

use crate::json_size::json_size;
use crate::limits::MAX_CHECKED_RESULT_BYTES;

/// The maximum number of compiled schemas in memory; the oldest are removed first.
const MAX_SCHEMAS: usize = 256;

/// The output schemas, each compiled when a result is first validated against it.
#[derive(Default)]
pub(crate) struct OutputSchemas {
    /// The schemas by tool as the registry holds it: a refresh that does not change a tool keeps it.
    known: Mutex<VecDeque<(Weak<Tool>, Compiled)>>,
}

/// A compiled schema; `None` if it does not compile.
type Compiled = Option<Arc<CompiledSchema>>;

impl OutputSchemas {
    /// Returns the violations of a tool's output schema by a result; none if it declares no schema, or one that does
    /// not compile.
    pub(crate) fn violations(&self, tool: &Arc<Tool>, result: &Value) -> Vec<String> {
        let declares = tool.output_parameters.as_object().is_some_and(|schema| !schema.is_empty());
        if !declares || json_size(result, MAX_CHECKED_RESULT_BYTES).is_none() {
            return Vec::new();
        }
        // The schema of an MCP tool describes the structured content; other content may be next to it.
        let structure = result.get("structuredContent").filter(|_| result.get("content").is_some());
        let result = structure.unwrap_or(result);
        let Some(schema) = self.compiled(tool) else { return Vec::new() };
        if schema.accepts(result) {
            return Vec::new();
        }
        let Err(violations) = schema.validate(result) else { return Vec::new() };
        violations.iter().map(|violation| violation.message.clone()).collect()
    }

    fn compiled(&self, tool: &Arc<Tool>) -> Compiled {
        let weak = Arc::downgrade(tool);
        let mut known = self.known.lock();
        // A dropped tool cannot be mistaken for this one: its address is not reused while a weak reference to it
        // exists.
        if let Some((_, schema)) = known.iter().find(|(other, _)| other.ptr_eq(&weak)) {
            return schema.clone();
        }
        // Compiling under the lock makes concurrent calls compile a schema once.
        let schema = CompiledSchema::compile(&tool.output_parameters.to_value()).ok().map(Arc::new);
        known.retain(|(other, _)| other.strong_count() > 0);
        if known.len() == MAX_SCHEMAS {
            known.pop_front();
        }
        known.push_back((weak, schema.clone()));
        schema
    }
}
