//! The argument schema of a tool, compiled when it is first needed.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, LazyLock, OnceLock};

use serde_json::Value;
use toolcrib_model::Tool;
use toolcrib_schema::{CompiledSchema, Error, Unchecked};

use crate::plain::is_plain;

/// The argument schema of a tool, to be used as the [`CompiledSchema`] that it is.
///
/// A broken schema never becomes one. A schema of which a look tells that it will compile does so when it is first used,
/// since most tools of a large catalogue are never called; any other is compiled when it is loaded. So a snapshot that is
/// there is ready: no call can find that a schema is broken, but the first call of a tool may take as long longer as it
/// takes to compile one small schema. A clone shares what was compiled.
#[derive(Clone)]
pub struct ToolSchema(Arc<State>);

enum State {
    Compiled(CompiledSchema),
    Later {
        /// The tool whose schema it is.
        tool: Arc<Tool>,
        compiled: OnceLock<Option<CompiledSchema>>,
        /// Stands in for a schema that did not compile although it should have.
        nothing: &'static CompiledSchema,
    },
}

/// The schema that accepts nothing.
static NOTHING: LazyLock<Option<CompiledSchema>> =
    LazyLock::new(|| CompiledSchema::compile(&Value::Bool(false)).ok());

impl ToolSchema {
    /// Takes on the schema of a tool, unless it is broken.
    pub(crate) fn new(tool: &Arc<Tool>) -> Result<Self, Error> {
        let state = match NOTHING.as_ref() {
            Some(nothing) if is_plain(&tool.parameters) => {
                State::Later { tool: Arc::clone(tool), compiled: OnceLock::new(), nothing }
            }
            _ => State::Compiled(CompiledSchema::compile(&tool.parameters)?),
        };
        Ok(Self(Arc::new(state)))
    }

    /// The patterns that no argument is checked against; see [`CompiledSchema::unchecked`]. It compiles nothing, since a
    /// schema that is left for later has no patterns.
    pub fn unchecked(&self) -> &[Unchecked] {
        match self.0.as_ref() {
            State::Compiled(schema) => schema.unchecked(),
            State::Later { .. } => &[],
        }
    }

    fn is_compiled(&self) -> bool {
        match self.0.as_ref() {
            State::Compiled(_) => true,
            State::Later { compiled, .. } => compiled.get().is_some(),
        }
    }
}

impl Deref for ToolSchema {
    type Target = CompiledSchema;

    fn deref(&self) -> &CompiledSchema {
        match self.0.as_ref() {
            State::Compiled(schema) => schema,
            State::Later { tool, compiled, nothing } => {
                let compile = || {
                    let schema = CompiledSchema::compile(&tool.parameters);
                    let fault = |error: &Error| tracing::error!(tool = %tool.name, "a plain schema is broken: {error}");
                    schema.inspect_err(fault).ok()
                };
                compiled.get_or_init(compile).as_ref().unwrap_or(nothing)
            }
        }
    }
}

impl fmt::Debug for ToolSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolSchema").field("is_compiled", &self.is_compiled()).finish_non_exhaustive()
    }
}
