//! The spelling of tool names in output.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_model::Tool;
use toolcrib_prompt::WireNames;

use crate::conversation::ConversationTool;

/// The namespace of the runtime's own tools, which have no prefix in wire names.
const RUNTIME_NAMESPACE: &str = "context_builder";

/// The spelling of tool names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum NameStyle {
    /// `namespace::name`.
    Qualified,
    /// `namespace.name`.
    Dotted,
    /// `namespace__name`, with letters, digits, `_` and `-` only.
    Wire,
}

/// The names of the tools of one conversation.
pub(super) struct Names {
    by_qualified: HashMap<String, String>,
}

impl Names {
    pub(super) fn new(tools: &[ConversationTool], style: NameStyle) -> Self {
        let of_wire = (style == NameStyle::Wire).then(|| {
            let tools: Vec<Tool> = tools.iter().map(|tool| Tool::new(tool.name.clone())).collect();
            WireNames::new(&tools, RUNTIME_NAMESPACE, &[])
        });
        let spelled = tools.iter().map(|tool| {
            let wire = of_wire.as_ref().and_then(|names| names.wire_name(&tool.name)).map(str::to_owned);
            let name = match style {
                NameStyle::Qualified => tool.name.to_string(),
                NameStyle::Dotted => tool.name.dotted(),
                NameStyle::Wire => wire.unwrap_or_else(|| wire_like(&tool.name.to_string())),
            };
            (tool.name.to_string(), name)
        });
        Self { by_qualified: spelled.collect() }
    }

    /// Returns the name of a tool. A tool that was not offered, as in a wrong call, is spelled like a wire name if the
    /// others are.
    pub(super) fn of(&self, qualified: &str) -> String {
        self.by_qualified.get(qualified).cloned().unwrap_or_else(|| wire_like(qualified))
    }
}

fn wire_like(qualified: &str) -> String {
    let name = qualified.replace("::", "__");
    name.chars().map(|c| if c.is_ascii_alphanumeric() || "_-".contains(c) { c } else { '_' }).collect()
}
