//! The tools, as the code of a module sees them.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;
use toolcrib_model::{ErrorKind, Tool, ToolCall, ToolError};
use toolcrib_port::CallContext;

/// The tools that a call may look at and call in turn: those that its own caller may use. What it calls goes through the one
/// entrance, on behalf of the same caller, and has no more time than the call itself.
///
/// A function takes it by its type, and no model sees it:
///
/// ```
/// use serde_json::{Value, json};
/// use toolcrib_sdk::{ToolError, Tools, tool};
///
/// /// Summarises a report.
/// #[tool(risk = "low")]
/// async fn summarise(tools: &Tools, report_id: u32) -> Result<String, ToolError> {
///     let report = tools.run_tool("reports.get-report", json!({"report_id": report_id})).await?;
///     Ok(report["title"].as_str().unwrap_or("untitled").to_owned())
/// }
/// ```
#[derive(Clone)]
pub struct Tools {
    context: CallContext,
}

impl Tools {
    /// Creates a view of the tools that a call with this context may see and call.
    pub fn new(context: &CallContext) -> Self {
        Self { context: context.clone() }
    }

    /// Returns the tools of a module, or of all with `None`, in their order: those that people can pick, or all of them.
    pub fn list_tools<'a>(
        &self,
        module: impl Into<Option<&'a str>>,
        user_selectable_only: bool,
    ) -> Vec<Arc<Tool>> {
        let module = module.into();
        let caller = self.context.caller.iter();
        caller
            .flat_map(|caller| caller.catalogue().visible_tools(&self.context))
            .filter(|tool| module.is_none_or(|module| tool.name.namespace() == module))
            .filter(|tool| !user_selectable_only || !tool.traits().unlisted)
            .collect()
    }

    /// Returns the tool of a name in any spelling; for overloads, the first one.
    ///
    /// # Errors
    ///
    /// Fails if no visible tool has the name, or if the name is ambiguous.
    pub fn get_tool(&self, name: &str) -> Result<Arc<Tool>, ToolError> {
        let caller = self.context.caller.as_ref().ok_or_else(nowhere)?;
        let found = caller.catalogue().find_tools(name, &self.context)?;
        found
            .into_iter()
            .next()
            .ok_or_else(|| ToolError::new(ErrorKind::UnknownTool, format!("there is no tool `{name}`")))
    }

    /// Calls a tool, whose name may be in any spelling, with arguments that are a JSON object.
    ///
    /// # Errors
    ///
    /// What the call failed of.
    pub async fn run_tool(&self, name: &str, arguments: Value) -> Result<Value, ToolError> {
        let Value::Object(arguments) = arguments else {
            let message = format!("the arguments of `{name}` have to be an object, not {arguments}");
            return Err(ToolError::new(ErrorKind::InvalidArgs, message));
        };
        let caller = self.context.caller.as_ref().ok_or_else(nowhere)?;
        let result = caller.call(ToolCall::new(name, arguments), &self.context).await;
        result.error.map_or(Ok(result.result), Err)
    }
}

impl fmt::Debug for Tools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tools").field("session", &self.context.session).finish_non_exhaustive()
    }
}

/// Returns a call that no executor runs, as in a test of the function alone.
fn nowhere() -> ToolError {
    ToolError::new(ErrorKind::Unavailable, "this call has no entrance by which it could reach other tools")
}
