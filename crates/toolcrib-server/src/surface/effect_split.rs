//! Tools that run found tools, separated by the effect of the call.

use rmcp::model::{Tool as WireTool, ToolAnnotations};
use serde_json::Value;
use toolcrib_meta::names::{BROWSE_CATEGORY, EXECUTE_TOOL, SEARCH_TOOLS};
use toolcrib_model::name::NAMESPACE_SEPARATOR;
use toolcrib_model::{ErrorKind, JsonObject, Risk, Tool, ToolCall, ToolError, ToolResult};
use toolcrib_policy::RUNTIME_NAMESPACE;
use toolcrib_port::CallContext;
use toolcrib_runtime::Runtime;

/// The intended effect of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Intent {
    Read,
    Write,
    Destroy,
}

impl Intent {
    pub(crate) const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Destroy];

    /// Returns the tools that replace a tool, if it is replaced.
    pub(super) fn replacing(wire_name: &str) -> Option<&'static [Self]> {
        (wire_name == EXECUTE_TOOL).then_some(&Self::ALL)
    }

    /// Returns the intent of calling a tool of this name, or `None` if the name declares none.
    pub(crate) fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|intent| intent.name() == name)
    }

    pub(crate) fn name(self) -> &'static str {
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

    /// Creates the tool from the one that it replaces.
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

    /// Returns the call to forward. Rejects a call of a tool with another effect, and of a tool that runs others. The
    /// arguments have a single form, so that the checked call is the call that runs.
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
            return Err(ToolError::new(ErrorKind::InvalidArgs, message).with_hint(format!(
                "give the name of the tool as `{SEARCH_TOOLS}` shows it, and its arguments"
            )));
        };
        // The tool caller reports unknown and ambiguous names.
        for tool in
            runtime.executor().tool_caller().catalogue().find_tools(&named, context).unwrap_or_default()
        {
            if tool.runs_others() {
                return Err(unsplit(&tool));
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

    /// Returns the intent that fits all tools of this name, if they agree and run no others.
    fn of_tool(name: &str, runtime: &Runtime, context: &CallContext) -> Option<Self> {
        let tools = runtime.executor().tool_caller().catalogue().find_tools(name, context).ok()?;
        let kind = Self::kind(tools.first().filter(|tool| !tool.runs_others())?);
        tools.iter().all(|tool| Self::kind(tool) == kind).then_some(kind)
    }

    fn kind(tool: &Tool) -> Self {
        match tool.traits().risk {
            _ if tool.traits().is_read_only() => Self::Read,
            Risk::High => Self::Destroy,
            Risk::Low | Risk::Medium => Self::Write,
        }
    }
}

/// The tools of the runtime whose results list tools, and the arrays that hold them.
const LISTS: [(&str, &str); 2] = [(SEARCH_TOOLS, "results"), (BROWSE_CATEGORY, "tools")];

/// Adds to each tool in a list the name of the tool that calls it, so that no call is spent on finding out.
pub(crate) fn annotate_intents(result: &mut ToolResult, runtime: &Runtime, context: &CallContext) {
    let (namespace, name) = result.name.split_once(NAMESPACE_SEPARATOR).unwrap_or_default();
    let list = LISTS.iter().find(|(tool, _)| namespace == RUNTIME_NAMESPACE && *tool == name);
    let items = list.and_then(|(_, key)| result.result.get_mut(*key)?.as_array_mut());
    for item in items.into_iter().flatten() {
        let named =
            item.get("name").unwrap_or(item).as_str().map(|text| text.split('(').next().unwrap_or(text));
        let Some(intent) = named.and_then(|named| Intent::of_tool(named, runtime, context)) else { continue };
        match item {
            Value::String(line) => line.extend([" [", intent.name(), "]"]),
            Value::Object(map) => _ = map.insert("call_with".into(), intent.name().into()),
            _ => {}
        }
    }
}

/// Returns the error for a tool that runs others, because the three tools replace it.
pub(crate) fn refused(name: &str, runtime: &Runtime, context: &CallContext) -> Option<ToolError> {
    let found = runtime.executor().tool_caller().catalogue().find_tools(name, context).unwrap_or_default();
    let tool = found.iter().find(|tool| tool.runs_others())?;
    Some(unsplit(tool))
}

fn unsplit(tool: &Tool) -> ToolError {
    let names = Intent::ALL.map(Intent::name).join("`, `");
    let message = format!(
        "`{}` is not served here, since it does not declare the effect of the call",
        tool.name.name()
    );
    ToolError::new(ErrorKind::Denied, message)
        .with_hint(format!("call one tool at a time, by one of `{names}`"))
}
