//! Running what was found, by what it does.

use std::sync::Arc;

use rmcp::model::{Tool as WireTool, ToolAnnotations};
use serde_json::Value;
use toolcrib_model::{ErrorKind, JsonObject, Risk, Tool, ToolCall, ToolError};
use toolcrib_policy::RUNTIME_NAMESPACE;
use toolcrib_port::CallContext;
use toolcrib_runtime::Runtime;

/// The tool that runs any other, and that these stand in the place of.
const EXECUTE: &str = "execute_tool";

/// What a caller means to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Intent {
    Read,
    Write,
    Destroy,
}

impl Intent {
    const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Destroy];

    /// The tools that stand in the place of one, if some do.
    pub(super) fn replacing(wire_name: &str) -> Option<&'static [Self]> {
        (wire_name == EXECUTE).then_some(&Self::ALL)
    }

    /// What calling a tool of this name says; `None` where it says nothing.
    pub(crate) fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|intent| intent.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Read => "execute_read",
            Self::Write => "execute_write",
            Self::Destroy => "execute_destructive",
        }
    }

    fn what(self) -> &'static str {
        match self {
            Self::Read => "only looks, and changes nothing",
            Self::Write => "changes something",
            Self::Destroy => "may destroy something",
        }
    }

    /// The tool, made of the one whose place it takes.
    pub(super) fn tool(self, execute: WireTool) -> WireTool {
        let description = format!("Execute a tool that {}, with parameters", self.what());
        let mut tool = WireTool::new_with_raw(self.name(), Some(description.into()), execute.input_schema);
        let mut annotations = ToolAnnotations::new();
        annotations.read_only_hint = Some(self == Self::Read);
        annotations.destructive_hint = Some(self == Self::Destroy);
        annotations.idempotent_hint = Some(self == Self::Read);
        annotations.open_world_hint = Some(true);
        tool.annotations = Some(annotations);
        tool
    }

    /// The call that is meant. A call of a tool that does something else is refused, and so is one of a tool that runs others.
    /// The arguments have one shape only, so that what is looked at here is what runs.
    pub(crate) fn forwarded(
        self,
        mut arguments: JsonObject,
        runtime: &Runtime,
        context: &CallContext,
    ) -> Result<ToolCall, ToolError> {
        let named = arguments.shift_remove("name");
        let params = arguments.shift_remove("params").unwrap_or_else(|| JsonObject::new().into());
        let (Some(Value::String(named)), Value::Object(params), true) = (named, params, arguments.is_empty())
        else {
            let message =
                format!("`{}` takes `name`, a text, and `params`, an object, and nothing else", self.name());
            return Err(ToolError::new(ErrorKind::InvalidArgs, message)
                .with_hint("give the name of the tool as `search_tools` shows it, and its arguments"));
        };
        // What is to be said of a name that means nothing, or more than one thing, the entrance says.
        for tool in runtime.executor().entrance().find_tools(&named, context).unwrap_or_default() {
            if tool.name.namespace() == RUNTIME_NAMESPACE {
                let message = format!(
                    "`{}` runs the tools of others, and `{named}` is called by its own name",
                    self.name()
                );
                return Err(
                    ToolError::new(ErrorKind::Denied, message).with_hint(format!("call `{named}` itself"))
                );
            }
            let kind = Self::kind(&tool);
            if kind != self {
                let (own, name) = (self.what(), self.name());
                let message = format!("`{named}` {}, and `{name}` is for a tool that {own}", kind.what());
                let hint = format!("make the same call with `{}`", kind.name());
                return Err(ToolError::new(ErrorKind::Denied, message).with_hint(hint));
            }
        }
        Ok(ToolCall::new(named, params))
    }

    fn kind(tool: &Tool) -> Self {
        match tool.risk() {
            Risk::Low if tool.side_effects().next().is_none() => Self::Read,
            Risk::High => Self::Destroy,
            Risk::Low | Risk::Medium => Self::Write,
        }
    }
}

/// The tools of the runtime that only look at tools and results.
const READING: [&str; 5] = ["search_tools", "get_tool", "list_categories", "browse_category", "read_result"];

/// Whether a tool of the runtime only looks. Any other may run tools, now or later, so that calling it says nothing of what is
/// meant.
pub(super) fn only_reads(tool: &Tool) -> bool {
    READING.contains(&tool.name.name())
}

/// Why a tool of the runtime is not run where the three stand in the place of all that run others, if it is one of those.
pub(crate) fn refused(name: &str, runtime: &Runtime, context: &CallContext) -> Option<ToolError> {
    let found = runtime.executor().entrance().find_tools(name, context).unwrap_or_default();
    let runs_others =
        |tool: &&Arc<Tool>| tool.name.namespace() == RUNTIME_NAMESPACE && !only_reads(tool.as_ref());
    let tool = found.iter().find(runs_others)?;
    let names = Intent::ALL.map(Intent::name).join("`, `");
    let message = format!("`{}` is not served here, since it does not say what is meant", tool.name.name());
    Some(
        ToolError::new(ErrorKind::Denied, message)
            .with_hint(format!("call one tool at a time, by one of `{names}`")),
    )
}
