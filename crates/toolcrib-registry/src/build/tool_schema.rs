//! The argument schema of a tool, compiled lazily if it is simple.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, LazyLock, OnceLock};

use serde_json::Value;
use toolcrib_model::Tool;
use toolcrib_schema::{CompiledSchema, Error, Unchecked};

use super::simple_schema::{SimpleDefinitions, is_simple};

/// The argument schema of a tool, which dereferences to its [`CompiledSchema`].
///
/// A broken schema never becomes a `ToolSchema`. A simple schema, which is certain to compile, is compiled at its first
/// use, since most tools of a large catalogue are never called; any other schema is compiled while it is loaded. A
/// snapshot is therefore ready: no call can find that a schema is broken, but the first call of a tool may take longer
/// by the time to compile one small schema. Clones share the compiled schema.
#[derive(Clone)]
pub struct ToolSchema(Arc<LazySchema>);

enum LazySchema {
    Compiled(Box<CompiledSchema>),
    Later {
        /// The tool with the schema.
        tool: Arc<Tool>,
        compiled: OnceLock<Option<Box<CompiledSchema>>>,
        /// The replacement for a schema that unexpectedly did not compile.
        fallback: &'static CompiledSchema,
    },
}

/// The schema that accepts nothing.
static NOTHING: LazyLock<Option<CompiledSchema>> =
    LazyLock::new(|| CompiledSchema::compile(&Value::Bool(false)).ok());

impl ToolSchema {
    /// Creates the schema of a tool, or returns an error if it is broken.
    pub(crate) fn new(tool: &Arc<Tool>, known: &SimpleDefinitions) -> Result<Self, Error> {
        let state = match NOTHING.as_ref() {
            Some(fallback) if is_simple(&tool.parameters, known) => {
                LazySchema::Later { tool: Arc::clone(tool), compiled: OnceLock::new(), fallback }
            }
            _ => LazySchema::Compiled(Box::new(CompiledSchema::compile(&tool.parameters.to_value())?)),
        };
        Ok(Self(Arc::new(state)))
    }

    /// Returns the patterns that no argument is checked against; see [`CompiledSchema::unchecked`]. It compiles
    /// nothing, since a schema that is not compiled yet has no patterns.
    pub fn unchecked(&self) -> &[Unchecked] {
        match self.0.as_ref() {
            LazySchema::Compiled(schema) => schema.unchecked(),
            LazySchema::Later { .. } => &[],
        }
    }

    fn is_compiled(&self) -> bool {
        match self.0.as_ref() {
            LazySchema::Compiled(_) => true,
            LazySchema::Later { compiled, .. } => compiled.get().is_some(),
        }
    }
}

impl Deref for ToolSchema {
    type Target = CompiledSchema;

    fn deref(&self) -> &CompiledSchema {
        match self.0.as_ref() {
            LazySchema::Compiled(schema) => schema,
            LazySchema::Later { tool, compiled, fallback } => {
                let compile = || {
                    let schema = CompiledSchema::compile(&tool.parameters.to_value());
                    let fault = |error: &Error| tracing::error!(tool = %tool.name, "a simple schema does not compile: {error}");
                    schema.inspect_err(fault).ok().map(Box::new)
                };
                compiled.get_or_init(compile).as_deref().unwrap_or(fallback)
            }
        }
    }
}

impl fmt::Debug for ToolSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolSchema").field("is_compiled", &self.is_compiled()).finish_non_exhaustive()
    }
}
